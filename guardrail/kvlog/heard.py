"""What one process of an engine has said so far, line by line."""

from dataclasses import dataclass, field

from guardrail.kvlog import dialects
from guardrail.kvlog.reading import GIB, Reading
from guardrail.kvlog.scratch import ScratchLine, read_scratch


@dataclass(slots=True)
class Heard:
    """Statements of one process, each under what it is about and in their order."""

    sizes: dict[str, list[Reading]] = field(default_factory=dict)
    """Bytes, under the names of the groups in `dialects.WORKER_LINES`."""
    scratch: list[ScratchLine] = field(default_factory=list)
    effective: Reading | None = None
    """Utilization that is left when the estimate of graphs is taken from what was asked for."""
    applied: bool = True
    """Whether the estimate of graphs is taken from the budget."""
    fitting_bytes: int | None = None
    """Size that vLLM proposes, so that the engine fits into the requested memory."""
    tokens: list[int] = field(default_factory=list)
    concurrency: list[Reading] = field(default_factory=list)
    request_tokens: int | None = None
    started_at: int | None = None
    """Line on which it began to start an engine."""
    ready: bool = False

    @property
    def is_worker(self) -> bool:
        """Tell whether it holds a part of the model."""
        return bool(self.sizes or self.scratch)

    def hear(self, text: str) -> None:
        """Take note of what one message states."""
        self._hear_sizes(text)
        if fitting := dialects.FITTING.search(text):
            self.fitting_bytes = int(fitting["bytes"])
        if effective := dialects.EFFECTIVE.search(text):
            self.effective = Reading.rounded(effective["effective"])
        if dialects.UNAPPLIED.search(text):
            self.applied = False
        if tokens := dialects.TOKENS.search(text):
            self.tokens.append(_count(tokens["tokens"]))
        if concurrency := dialects.CONCURRENCY.search(text):
            self.request_tokens = _count(concurrency["request"])
            self.concurrency.append(Reading.rounded(concurrency["concurrency"]))
        if scratch := read_scratch(text):
            self.scratch.append(scratch)
        self.ready = self.ready or dialects.READY.search(text) is not None

    def _hear_sizes(self, text: str) -> None:
        for pattern in dialects.WORKER_LINES:
            found = pattern.search(text)
            if found is None:
                continue
            stated = {name: value for name, value in found.groupdict().items() if value is not None}
            for name, value in stated.items():
                self.sizes.setdefault(name, []).append(Reading.rounded(value, GIB))
            if "available_bytes" in stated:
                self._end_profile()

    def _end_profile(self) -> None:
        """Forget what the profile gave back: the graphs it captured, its builders and their own scratch."""
        self.sizes.pop("captured_bytes", None)
        self.scratch = [line for line in self.scratch if line.bytes and line.pooled]


def _count(text: str) -> int:
    return int(text.replace(",", ""))
