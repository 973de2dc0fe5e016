"""Answers the calls of a scripted provider over HTTP: 200 with an answer, or 429 with the seconds to wait."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@contextmanager
def serving(reply: Callable[[str], int | None]) -> Iterator[str]:
    """Serve on a free port, and yield the URL. `reply` gets a path, and returns None or the seconds to wait."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            retry_after_s = reply(self.path)
            self.send_response(200 if retry_after_s is None else 429)
            if retry_after_s is not None:
                self.send_header("Retry-After", str(retry_after_s))
            self.end_headers()
            self.wfile.write(b"an answer")

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the standard library
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
