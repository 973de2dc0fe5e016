"""An HTTP proxy that can lose answers: the server does what it is asked, and the caller's connection breaks."""

import http.client
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit


class Forgetful:
    """`url` leads to the server; the answers to the next calls of these tools are lost, once each."""

    def __init__(self, url: str, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}/mcp"
        self._target = urlsplit(url).netloc
        self._lock = threading.Lock()
        self.to_lose: Counter[str] = Counter()

    def forward(self, body: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(self._target, timeout=60)
        connection.request("POST", "/mcp", body, headers)
        response = connection.getresponse()
        answer = response.status, response.read()
        connection.close()
        return answer

    def loses(self, tool: str) -> bool:
        with self._lock:
            is_lost = self.to_lose[tool] > 0
            self.to_lose[tool] -= is_lost
            return is_lost


@contextmanager
def forgetful(url: str) -> Iterator[Forgetful]:
    class Forwarding(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {
                name: value for name, value in self.headers.items() if name.lower() not in {"host", "connection"}
            }
            status, answer = proxy.forward(body, headers)
            if proxy.loses(self.headers["Mcp-Name"]):
                self.close_connection = True
                return
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Forwarding) as server:
        proxy = Forgetful(url, server.server_port)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield proxy
        finally:
            server.shutdown()
            thread.join()
