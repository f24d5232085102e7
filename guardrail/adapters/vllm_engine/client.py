"""A client of OpenAI's completions, on the standard library."""

import contextlib
import http.client
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from guardrail.errors import MeasurementError, UsageError

_SHOWN = 200
_DONE = "[DONE]"

Prompt = str | list[int]


@dataclass(frozen=True, slots=True)
class Streamed:
    """One streamed completion, as the client saw it."""

    content_times: tuple[float, ...]
    """Seconds at which a chunk with content arrived; a chunk is a step, whatever it holds of tokens."""
    completion_tokens: int
    """As the server counts them."""
    text: str
    token_ids: tuple[int, ...]
    """Empty where the server sends none."""
    cached_tokens: int | None
    """Prompt tokens that came from the prefix cache; None where the server does not tell."""


class Client:
    """Talks to one server, a connection for each request.

    Args:
        url: Where it listens.
        model: Name that it serves the model by.
        timeout: Seconds without a byte after which a request is given up.
    """

    def __init__(self, url: str, model: str, timeout: float) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError(f"url {url!r}: expected an address such as http://127.0.0.1:8000")
        self._kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._host, self._port, self._timeout = parts.hostname, parts.port, timeout
        self._path = f"{parts.path.rstrip('/').removesuffix('/v1')}/v1/completions"
        self._url, self._model = url, model

    def stream(self, prompt: Prompt, new_tokens: int) -> Streamed:
        """Complete a prompt greedily to a number of tokens, and keep when what arrived.

        Raises:
            MeasurementError: The server refuses, breaks off, or does not count its tokens.
        """
        times: list[float] = []
        texts: list[str] = []
        tokens: list[int] = []
        usage: Mapping[str, Any] | None = None
        request = {
            "prompt": prompt, "max_tokens": new_tokens, "temperature": 0, "ignore_eos": True,
            "stream": True, "stream_options": {"include_usage": True}, "return_token_ids": True,
        }  # fmt: skip
        for arrived, event in self._events(request):
            usage = event.get("usage") or usage
            for choice in event.get("choices", ()):
                new = choice.get("token_ids") or []
                if new or choice.get("text"):
                    times.append(arrived)
                texts.append(choice.get("text") or "")
                tokens += new
        if usage is None or not isinstance(usage.get("completion_tokens"), int):
            raise self._fault("gave no usage with completion_tokens, though stream_options asked for it")
        counted: int = usage["completion_tokens"]
        if tokens and len(tokens) != counted:
            raise self._fault(f"streamed {len(tokens)} tokens and counts {counted}")
        details = usage.get("prompt_tokens_details") or {}
        text = ",".join(map(str, tokens)) or "".join(texts)
        return Streamed(tuple(times), counted, text, tuple(tokens), details.get("cached_tokens"))

    def score(self, text: str) -> list[float]:
        """Give the log-probability of each of a text's tokens behind its first.

        Raises:
            MeasurementError: The server refuses, or does not echo log-probabilities.
        """
        answer = self._answer(
            {"prompt": text, "max_tokens": 1, "temperature": 0, "echo": True, "logprobs": 1}
        )
        try:
            # The token that was generated, because some must be, is not the text's.
            scored = answer["choices"][0]["logprobs"]["token_logprobs"][1 : answer["usage"]["prompt_tokens"]]
            return [float(value) for value in scored]
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise self._fault("gave no token_logprobs for an echoed prompt") from error

    def answer(self, text: str, new_tokens: int) -> str:
        """Complete a text greedily.

        Raises:
            MeasurementError: The server refuses, or gives no text.
        """
        answer = self._answer({"prompt": text, "max_tokens": new_tokens, "temperature": 0})
        try:
            return str(answer["choices"][0]["text"])
        except (KeyError, IndexError, TypeError) as error:
            raise self._fault("gave a completion without text") from error

    def _answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        try:
            with self._sent(request) as response:
                body = response.read()
            found = json.loads(body)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise self._fault(f"gave no answer: {error or type(error).__name__}") from error
        if not isinstance(found, dict):
            raise self._fault(f"answered with no object: {body[:_SHOWN]!r}")
        return found

    def _events(self, request: Mapping[str, Any]) -> Iterator[tuple[float, dict[str, Any]]]:
        """Read server-sent events up to the end that the protocol marks."""
        try:
            with self._sent(request) as response:
                while line := response.readline():
                    arrived = time.perf_counter()
                    name, _, data = line.decode(errors="replace").strip().partition(":")
                    if name != "data":
                        continue
                    if data.strip() == _DONE:
                        return
                    yield arrived, self._event(data)
        except (OSError, http.client.HTTPException) as error:
            raise self._fault(f"broke off: {error or type(error).__name__}") from error
        raise self._fault(f"ended its stream without {_DONE}")

    def _event(self, data: str) -> dict[str, Any]:
        try:
            event = json.loads(data)
        except ValueError as error:
            raise self._fault(f"streamed what is no JSON: {data[:_SHOWN]}") from error
        if not isinstance(event, dict) or "error" in event:
            raise self._fault(f"failed: {data[:_SHOWN]}")
        return event

    @contextlib.contextmanager
    def _sent(self, request: Mapping[str, Any]) -> Iterator[http.client.HTTPResponse]:
        """Send a request, and close what carries its answer with the block."""
        connection = self._kind(self._host, self._port, timeout=self._timeout)
        body = json.dumps({"model": self._model, **request})
        with contextlib.closing(connection):
            connection.request("POST", self._path, body, {"Content-Type": "application/json"})
            # Where the server closes after its answer, the response alone still holds the socket.
            with contextlib.closing(connection.getresponse()) as response:
                if response.status != http.client.OK:
                    said = response.read().decode(errors="replace")[:_SHOWN]
                    raise self._fault(f"refused with {response.status}: {said}")
                yield response

    def _fault(self, what: str) -> MeasurementError:
        return MeasurementError(f"the server at {self._url} {what}")
