#!/usr/bin/python3
"""Writes docs/tools.md from what the built binary itself offers. Called by scripts/generate."""

import difflib
import json
import sys

from mcp_client import ROOT, Client

HEAD = """# Tools

What an agent host gets from `deskhand mcp`. Written by `scripts/generate` from the binary's own `tools/list`: do not edit.

The list is {tokens} tokens long (its bytes divided by 4). A host's permission mode and what a desktop can do may take
actions away; the rules are the same for the command line (`deskhand observe`, `deskhand control`).
"""


def main(arguments):
    client = Client()
    try:
        tools = client.tools()
    finally:
        client.end()
    pages = {ROOT / "docs" / "tools.md": page(tools)}
    stale = False
    for path, text in pages.items():
        name = str(path.relative_to(ROOT))
        before = path.read_text() if path.exists() else ""
        if before == text:
            continue
        if "--check" in arguments:
            stale = True
            sys.stdout.writelines(difflib.unified_diff(before.splitlines(True), text.splitlines(True), name, "made from the code"))
        else:
            path.write_text(text)
            print(f"wrote {name}")
    if stale:
        sys.exit("generated files differ from the code: run scripts/generate and commit")


def page(tools):
    # Rounded, so that a changed word does not change the page twice.
    tokens = round(len(json.dumps(tools, separators=(",", ":"))) / 4, -2)
    parts = [HEAD.format(tokens=f"about {tokens:,.0f}")]
    for tool in tools:
        hints = ", ".join(sorted(name for name, value in tool["annotations"].items() if value is True))
        parts.append(f"\n## `{tool['name']}`\n\n{tool['annotations'].get('title', '')}. Hints: {hints or 'none'}.\n")
        parts.append("\n" + described(tool["description"]))
        parts.append("\n| argument | type | bounds | meaning |\n| --- | --- | --- | --- |\n")
        for name, schema in tool["inputSchema"]["properties"].items():
            if name != "action":
                parts.append(f"| `{name}` | {schema.get('type', 'number or boolean')} | {bounds(schema)} | {cell(schema.get('description', ''))} |\n")
    return "".join(parts)


def described(text):
    """The introduction, and the actions as a table: `press (surface_id, element_id?): …`."""
    lines = text.split("\n")
    out = [cell(lines[0]) + "\n", "\n| action | arguments | what |\n| --- | --- | --- |\n"]
    for line in lines[1:]:
        head, _, what = line.partition("): ")
        action, _, arguments = head.partition(" (")
        out.append(f"| `{action}` | {', '.join(f'`{name}`' for name in arguments.split(', ') if name) or '—'} | {cell(what)} |\n")
    return "".join(out)


def bounds(schema):
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    low, high = schema.get("minimum"), schema.get("maximum")
    if schema.get("type") == "object":
        return ", ".join(f"`{name}`" for name in schema.get("properties", {}))
    if low is None and high is None:
        return "—"
    return f"{'' if low is None else low} … {'' if high is None else high}".strip()


def cell(text):
    return text.replace("|", "\\|")


if __name__ == "__main__":
    main(sys.argv[1:])
