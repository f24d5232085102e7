"""A small server with OpenAI's completions, whose faults and times a test sets."""

import contextlib
import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Served:
    """How the server behaves, and what it was asked."""

    step_seconds: float = 0.002
    tokens_per_chunk: int = 1
    with_usage: bool = True
    with_token_ids: bool = True
    cached_tokens: int | None = 0
    counted: int | None = None
    """Tokens that it claims to have generated; as many as it did where None."""
    breaks_off: bool = False
    error: str = ""
    status: int = 200
    logprobs: bool = True
    asked: list[dict[str, Any]] = field(default_factory=list)
    url: str = ""


@contextlib.contextmanager
def serving(served: Served) -> Iterator[Served]:
    """Run the server until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            served.asked.append(request)
            if served.status != 200 or self.path != "/v1/completions":
                self.send_error(served.status if served.status != 200 else 404)
            elif request.get("stream"):
                self._stream(request)
            else:
                self._answer(request)

        def _stream(self, request: dict[str, Any]) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            left = request["max_tokens"]
            while left:
                time.sleep(served.step_seconds)
                count = min(served.tokens_per_chunk, left)
                left -= count
                ids = {"token_ids": list(range(count))} if served.with_token_ids else {}
                self._event({"choices": [{"text": "x" * count, **ids}]})
                if served.error:
                    self._event({"error": {"message": served.error}})
            if served.with_usage:
                usage: dict[str, Any] = {"completion_tokens": served.counted or request["max_tokens"]}
                if served.cached_tokens is not None:
                    usage["prompt_tokens_details"] = {"cached_tokens": served.cached_tokens}
                self._event({"choices": [], "usage": usage})
            if not served.breaks_off:
                self.wfile.write(b"data: [DONE]\n\n")

        def _event(self, event: dict[str, Any]) -> None:
            self.wfile.write(f"data: {json.dumps(event)}\n\n".encode())
            self.wfile.flush()

        def _answer(self, request: dict[str, Any]) -> None:
            prompt = request["prompt"]
            choice: dict[str, Any] = {"text": f"the answer is {eval_sum(prompt)}"}
            if request.get("echo") and served.logprobs:
                choice["logprobs"] = {"token_logprobs": [None, *([-1.5] * (len(prompt) - 1)), -9.0]}
            body = json.dumps({"choices": [choice], "usage": {"prompt_tokens": len(prompt)}}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def eval_sum(prompt: str) -> int:
    """Add up the numbers of a prompt; it knows no other answer."""
    return sum(int(word) for word in prompt.replace("+", " ").split() if word.isdigit())
