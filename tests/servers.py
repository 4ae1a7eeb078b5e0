"""Local servers that behave as a test tells them."""

from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

HTML = {"content-type": "text/html; charset=utf-8"}
JSON = {"content-type": "application/json"}


@dataclass
class Site:
    """A running server: its address, the requests it saw as (path, headers, body), and the bytes it sent."""

    url: str = ""
    seen: list = field(default_factory=list)
    sent: int = 0


@contextmanager
def site(answer):
    """A server whose `answer(path)` gives status, headers and body (bytes or an iterable of them). With a status of
    None the body is all that is sent: it has to bring its own status line and headers."""
    running = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            size = int(self.headers.get("content-length", 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            running.seen.append((self.path, headers, self.rfile.read(size)))
            status, reply_headers, body = answer(self.path)
            if status:
                self.send_response(status)
                for name, value in reply_headers.items():
                    self.send_header(name, value)
                self.end_headers()
            try:
                for piece in [body] if isinstance(body, bytes) else body:
                    self.wfile.write(piece)
                    running.sent += len(piece)
            except OSError:
                pass  # the client hung up, as it should

        do_POST = do_GET

        def log_message(self, *_):
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    running.url = f"http://127.0.0.1:{http.server_address[1]}"
    Thread(target=http.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield running
    finally:
        http.shutdown()
        http.server_close()
