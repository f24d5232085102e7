"""Reader ``decode``: the times at which a client received generated text."""

import hashlib
from typing import Any

from guardrail.errors import MeasurementError
from guardrail.results.documents import parse, require
from guardrail.results.interface import NamedSeries, Output, Series, Stated, number


def read(text: str, source: str) -> Output:
    """Read how fast each request was decoded.

    A chunk of streamed text may hold several tokens, so tokens are never counted by chunks. ``decode`` is the
    time of one step, ``1000 (t_last - t_first) / (steps - 1)`` ms, and stays comparable when a speculating
    engine takes another number of steps; ``tokens_per_second`` is ``completion_tokens / (t_last - t_first)``,
    and ``isolated_tokens_per_second`` is ``(completion_tokens - 1) / (t_last - t_first)``, which leaves the
    first token's own time out. The last two are comparable between runs of equally many steps alone.

    Args:
        text: ``{"requests": [{"content_times": [...], "completion_tokens": n, "steps": s, "text": "..."}]}``,
            with times in seconds from any origin; ``steps`` is the number of chunks where left out.
        source: What it came from, for messages.

    Raises:
        MeasurementError: It is not that.
    """
    document = require(parse(text, source), dict, source, "one object with a list of requests")
    requests = require(document.get("requests"), list, source, "a list of requests")
    if not requests:
        raise MeasurementError(f"{source}: there are no requests")
    spans, steps, tokens, texts = [], [], [], []
    times: list[float] = []
    for position, row in enumerate(requests):
        place = f"{source}: requests[{position}]"
        request = require(row, dict, place, "an object")
        arrived = _times(request, place)
        spans.append(arrived[-1] - arrived[0])
        times += [time - arrived[0] for time in arrived]
        steps.append(_count(request.get("steps", len(arrived)), f"{place}: steps"))
        tokens.append(_count(request.get("completion_tokens"), f"{place}: completion_tokens"))
        texts.append(str(request.get("text", "")))
    told = {"steps": sum(steps), "completion_tokens": sum(tokens)}
    notes: dict[str, Stated] = {**told}
    if any(texts):
        notes["text_sha256"] = hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]
    asked: dict[str, Stated] = {"requests": len(requests)}

    def series(values: list[float], unit: str, workload: dict[str, Stated]) -> Series:
        return Series(tuple(values), unit, workload, notes, tuple(times))

    per_step = [1000 * span / (count - 1) for span, count in zip(spans, steps, strict=True)]
    rates = [count / span for span, count in zip(spans, tokens, strict=True)]
    isolated = [(count - 1) / span for span, count in zip(spans, tokens, strict=True)]
    return NamedSeries(
        source,
        {
            "decode": series(per_step, "ms/step", asked),
            "tokens_per_second": series(rates, "tokens/s", {**asked, **told}),
            "isolated_tokens_per_second": series(isolated, "tokens/s", {**asked, **told}),
        },
    )


def _times(request: dict[str, Any], place: str) -> list[float]:
    listed = require(request.get("content_times"), list, place, "a list of content_times in seconds")
    times = [number(time, f"{place}: content_times") for time in listed]
    if len(times) < 2 or sorted(times) != times or times[0] == times[-1]:
        raise MeasurementError(f"{place}: expected two content_times or more, ascending")
    return times


def _count(value: Any, place: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 2:
        raise MeasurementError(f"{place}: expected a whole number of 2 or more, not {str(value)[:40]!r}")
    return value
