"""A small MCP client over standard input and output: what an agent host does, with nothing but Python."""

import json
import os
import pathlib
import queue
import subprocess
import threading

ROOT = pathlib.Path(__file__).resolve().parents[2]
REVISION = "2025-11-25"


def binary():
    """The built binary: DESKHAND_BIN, else the release build, else the debug build."""
    if os.environ.get("DESKHAND_BIN"):
        return os.environ["DESKHAND_BIN"]
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    built = [path for path in (target / "release" / "deskhand", target / "debug" / "deskhand") if path.exists()]
    if not built:
        raise SystemExit("deskhand is not built: cargo build --bin deskhand")
    return str(max(built, key=lambda path: path.stat().st_mtime))


class Refused(Exception):
    """A tool's result says that it is an error. Carries the envelope."""

    def __init__(self, envelope, text):
        error = envelope.get("error") or {}
        super().__init__(f"{error.get('code', 'error')}: {error.get('message', text)}")
        self.code, self.error, self.envelope = error.get("code"), error, envelope


class ProtocolError(Exception):
    """A JSON-RPC error."""


class Client:
    """One stdio connection to `deskhand mcp`, or to another server's command."""

    def __init__(self, command=None, environment=None, cwd=None, name="deskhand-demo", quiet=True):
        self.process = subprocess.Popen(
            command or [binary(), "mcp"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if quiet else None,
            env=environment,
            cwd=cwd,
        )
        self.answers, self.last_id, self.lock = {}, 0, threading.Lock()
        self.noise = []
        threading.Thread(target=self._read, daemon=True).start()
        self.server = self.request(
            "initialize",
            {"protocolVersion": REVISION, "capabilities": {}, "clientInfo": {"name": name, "version": "1"}},
        )
        self.notify("notifications/initialized")

    def _read(self):
        for line in self.process.stdout:
            try:
                message = json.loads(line)
            except ValueError:
                # Whatever is not JSON-RPC on standard output is a defect of the server.
                self.noise.append(line)
                continue
            if isinstance(message, dict) and "id" in message and "method" not in message:
                with self.lock:
                    waiting = self.answers.get(message["id"])
                if waiting:
                    waiting.put(message)
        with self.lock:
            for waiting in self.answers.values():
                waiting.put({"error": {"code": 0, "message": "the server ended"}})

    def _send(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def notify(self, method, params=None):
        self._send({"jsonrpc": "2.0", "method": method, **({"params": params} if params else {})})

    def request(self, method, params=None, timeout=60):
        with self.lock:
            self.last_id += 1
            number = self.last_id
            self.answers[number] = queue.Queue()
        self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}})
        try:
            message = self.answers[number].get(timeout=timeout)
        except queue.Empty:
            raise ProtocolError(f"{method}: no answer within {timeout} s") from None
        finally:
            with self.lock:
                del self.answers[number]
        if "error" in message:
            raise ProtocolError(f"{method}: {message['error'].get('message')}")
        return message["result"]

    def tools(self):
        return self.request("tools/list")["tools"]

    def call(self, tool, timeout=60, **arguments):
        """One tool call: its whole result, or `Refused`."""
        result = self.request("tools/call", {"name": tool, "arguments": arguments}, timeout)
        if result.get("isError"):
            raise Refused(result.get("structuredContent") or {}, text_of(result))
        return result

    def observe(self, action, **arguments):
        return self.call("computer_observe", action=action, **arguments)

    def control(self, action, **arguments):
        return self.call("computer_control", action=action, **arguments)

    def end(self, timeout=10):
        """Closes the connection as a host does, and waits for the server's end."""
        self.process.stdin.close()
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise


def text_of(result):
    return "\n".join(part["text"] for part in result.get("content", []) if part.get("type") == "text")


def image_of(result):
    """The first picture, as base64 text, with its media type."""
    for part in result.get("content", []):
        if part.get("type") == "image":
            return part["data"], part["mimeType"]
    return None


def data_of(result):
    return (result.get("structuredContent") or {}).get("data")


def verdict_of(result):
    return ((result.get("structuredContent") or {}).get("meta") or {}).get("effect_verdict") or {}
