#!/usr/bin/python3
"""Carries MCP messages between Streamable HTTP on loopback and servers on standard input and output, unchanged.

    http_relay.py COMMAND [ARGUMENT…]        prints its address on the first line

The public conformance suite tests servers over HTTP only. Each HTTP session is one process of the command; what a process
sends on its own goes to the session's event stream. For tests: one machine, no authentication.
"""

import http.server
import json
import queue
import subprocess
import sys
import threading
import uuid

ANSWER_SECONDS = 60


class Session:
    """One process of the command."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.waiting, self.own, self.lock = {}, queue.Queue(), threading.Lock()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            message = json.loads(line)
            with self.lock:
                waiting = self.waiting.get(json.dumps(message.get("id"))) if "method" not in message else None
            (waiting or self.own).put(line.strip())
        self.own.put(None)

    def send(self, message, line):
        answer = None
        if "method" in message and "id" in message:
            answer = queue.Queue()
            with self.lock:
                self.waiting[json.dumps(message["id"])] = answer
        with self.lock:
            self.process.stdin.write(line.replace(b"\n", b" ") + b"\n")
            self.process.stdin.flush()
        if answer is None:
            return None
        try:
            return answer.get(timeout=ANSWER_SECONDS)
        finally:
            with self.lock:
                del self.waiting[json.dumps(message["id"])]

    def end(self):
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Relay(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    served, sessions = [], {}

    def session(self):
        return self.sessions.get(self.headers.get("Mcp-Session-Id"))

    def do_POST(self):
        line = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        message = json.loads(line)
        identity = self.headers.get("Mcp-Session-Id")
        if message.get("method") == "initialize":
            identity = str(uuid.uuid4())
            self.sessions[identity] = Session(self.served)
        elif identity not in self.sessions:
            return self.answer(404 if identity else 400, b"")
        answer = self.sessions[identity].send(message, line)
        self.answer(202 if answer is None else 200, answer or b"", identity)

    def do_GET(self):
        session = self.session()
        if session is None:
            return self.answer(400, b"")
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.flush()
        try:
            while (line := session.own.get()) is not None:
                self.wfile.write(b"event: message\ndata: " + line + b"\n\n")
                self.wfile.flush()
        except OSError:
            pass
        self.close_connection = True

    def do_DELETE(self):
        session = self.sessions.pop(self.headers.get("Mcp-Session-Id"), None)
        if session:
            session.end()
        self.answer(200 if session else 404, b"")

    def answer(self, status, body, identity=None):
        self.send_response(status)
        if identity:
            self.send_header("Mcp-Session-Id", identity)
        if body:
            self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def main(command):
    Relay.served = command
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Relay)
    server.daemon_threads = True
    print(f"http://127.0.0.1:{server.server_address[1]}/mcp", flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    # Whoever started the relay ends it by closing its input.
    sys.stdin.buffer.read()
    server.shutdown()
    for session in Relay.sessions.values():
        session.end()


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1:])
