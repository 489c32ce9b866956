#!/usr/bin/python3
"""Public MCP programs against `deskhand mcp`. Called by scripts/conformance and by the end-to-end tests.

Fails where a scenario that applies does not pass, and where one that is listed as not applying passes: then the list is stale.
"""

import json
import os
import pathlib
import re
import subprocess
import sys

from mcp_client import ROOT, binary

TOOLS = pathlib.Path(os.environ.get("DESKHAND_CONFORMANCE", "/nonexistent"))
NODE = TOOLS / "bin" / "node"
SUITE = TOOLS / "npm" / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
INSPECTOR = TOOLS / "npm" / "node_modules" / ".bin" / "mcp-inspector"
SECONDS = 120

NO_TEST_TOOL = "calls a tool that only the suite's own example server has (`test_…`)"
NO_FEATURE = "an optional feature that Deskhand does not declare: "
OF_HTTP = "about the HTTP server, which here is the relay: "

# A name or its beginning, and why the scenario does not apply.
NOT_APPLICABLE = {
    "logging-": NO_FEATURE + "logging",
    "completion-": NO_FEATURE + "completions",
    "resources-": NO_FEATURE + "resources",
    "prompts-": NO_FEATURE + "prompts",
    "tools-call-": NO_TEST_TOOL,
    "json-schema-2020-12": NO_TEST_TOOL,
    "elicitation-": NO_TEST_TOOL,
    "server-sse-polling": OF_HTTP + "resuming event streams",
    "dns-rebinding-protection": OF_HTTP + "`Host` and `Origin`",
}


def main(arguments):
    rows = [*suite(), *inspector(), *python_client()]
    for program, scenario, verdict, why in rows:
        print(f"{verdict:<15} {program:<18} {scenario}{' — ' + why if why else ''}")
    if "--write" in arguments:
        (ROOT / "docs" / "conformance.md").write_text(page(rows))
    failed = [row for row in rows if row[2] in ("FAILED", "STALE")]
    print(f"{sum(row[2] == 'passed' for row in rows)} passed, {len(failed)} failed, "
          f"{sum(row[2] == 'not applicable' for row in rows)} do not apply")
    return 1 if failed else 0


def suite():
    """Every server scenario of the public suite, through the relay."""
    listed = run([NODE, SUITE, "list"]).stdout
    part = listed.partition("Server scenarios")[2].partition("Client scenarios")[0]
    scenarios = re.findall(r"^\s+- (\S+)", part, re.MULTILINE)
    if len(scenarios) < 20:
        raise SystemExit("the suite's list of scenarios could not be read")
    relay = subprocess.Popen([sys.executable, ROOT / "scripts" / "lib" / "http_relay.py", binary(), "mcp"],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        address = relay.stdout.readline().strip()
        for scenario in scenarios:
            ended = run([NODE, SUITE, "server", "--url", address, "--scenario", scenario])
            counted = re.search(r"Passed: (\d+)/(\d+)", ended.stdout)
            passed = ended.returncode == 0 and counted and counted[1] == counted[2] != "0"
            why = next((why for name, why in NOT_APPLICABLE.items() if scenario.startswith(name)), None)
            if why:
                yield "conformance suite", scenario, "STALE" if passed else "not applicable", "passes after all" if passed else why
            else:
                wrong = re.search(r"Error: (.*)", ended.stdout)
                yield "conformance suite", scenario, "passed" if passed else "FAILED", "" if passed else wrong[1] if wrong else ""
    finally:
        relay.stdin.close()
        relay.wait(30)


def inspector():
    """The Inspector's command line, as the README's configuration starts the server."""
    for scenario, method, holds in (
        ("tools/list", ["tools/list"], lambda answer: {"computer_observe", "computer_control"} <= {t["name"] for t in answer["tools"]}),
        ("tools/call targets", ["tools/call", "--tool-name", "computer_observe", "--tool-arg", "action=targets"],
         lambda answer: answer["structuredContent"]["ok"]),
        ("tools/call windows", ["tools/call", "--tool-name", "computer_observe", "--tool-arg", "action=windows"],
         lambda answer: answer["structuredContent"]["ok"]),
    ):
        ended = run([INSPECTOR, "--cli", binary(), "mcp", "--method", *method])
        try:
            passed = ended.returncode == 0 and holds(json.loads(ended.stdout))
        except (ValueError, KeyError):
            passed = False
        yield "MCP Inspector", scenario, "passed" if passed else "FAILED", "" if passed else (ended.stderr or ended.stdout)[:200]


def python_client():
    """The Python SDK, which also checks each result against the tool's output schema."""
    ended = run([TOOLS / "bin" / "python", "-c", CLIENT, binary()])
    passed = ended.stdout.split()
    for scenario in ("initialize", "ping", "tools/list", "targets", "windows", "refusal"):
        good = scenario in passed
        yield "Python mcp client", scenario, "passed" if good else "FAILED", "" if good else ended.stderr[-200:]


CLIENT = """
import asyncio, sys
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

async def main():
    async with stdio_client(StdioServerParameters(command=sys.argv[1], args=["mcp"])) as streams:
        async with ClientSession(*streams) as session:
            await session.initialize(); print("initialize")
            await session.send_ping(); print("ping")
            names = {tool.name for tool in (await session.list_tools()).tools}
            assert {"computer_observe", "computer_control"} <= names, names
            print("tools/list")
            for action in ("targets", "windows"):
                result = await session.call_tool("computer_observe", {"action": action})
                assert not result.is_error and result.structured_content["ok"], result
                print(action)
            result = await session.call_tool("computer_control", {"action": "press", "surface_id": "s00000000", "element_id": "e000000"})
            assert result.is_error and result.structured_content["error"]["code"] == "stale_surface", result
            print("refusal")

asyncio.run(main())
"""


def run(command):
    environment = {**os.environ, "PATH": f"{TOOLS / 'bin'}{os.pathsep}{os.environ['PATH']}", "NO_COLOR": "1"}
    # The suite writes its results where it stands.
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=SECONDS, env=environment,
                          cwd=os.environ.get("TMPDIR", "/tmp"), stdin=subprocess.DEVNULL)


def page(rows):
    versions = (TOOLS / "versions").read_text().split()
    lines = [
        "# MCP conformance",
        "",
        "Written by `scripts/conformance --write`; `scripts/test` runs the same and fails where a scenario that applies does not",
        "pass, or one that is said not to apply does.",
        "",
        f"- The MCP conformance suite (npm `@modelcontextprotocol/conformance` {versions[2]}). It tests servers over Streamable HTTP",
        "  only, and Deskhand speaks standard input and output so far, so a [relay](../scripts/lib/http_relay.py) that changes no",
        "  message stands between.",
        f"- The MCP Inspector's command line (npm `@modelcontextprotocol/inspector` {versions[3]}).",
        f"- The Python SDK's client (PyPI `mcp` {versions[1]}), which checks results against the tools' output schemas.",
        "",
        "| program | scenario | outcome |",
        "| --- | --- | --- |",
    ]
    lines += [f"| {program} | `{scenario}` | {verdict}{': ' + why if why else ''} |" for program, scenario, verdict, why in rows]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
