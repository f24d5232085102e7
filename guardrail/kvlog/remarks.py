"""What a start says beside its budget: compiled code, variables that are not known, kernels compiled late."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

_COMPILED = re.compile(r"Compiling a graph for .* takes [\d.]+ s")
_LOADED = re.compile(r"Directly load (?:the compiled graph|AOT compilation)")
_UNKNOWN = re.compile(r"Unknown vLLM environment variable detected: (?P<name>\w+)")
_WATCHED = re.compile(r"JIT monitor activated")
_LATE = re.compile(r"JIT compilation during inference: (?P<kernel>.+?)(?: \(.*\))?\. This causes")

_REPORTS_UNKNOWN = (0, 27)
"""First version that was seen to print the line on variables that it does not know."""


@dataclass(slots=True)
class Remarks:
    """What the processes of one engine said; kernels and variables each once, in their order."""

    compiled: bool = False
    loaded: bool = False
    unknown: dict[str, None] = field(default_factory=dict)
    watched: bool = False
    """Whether the engine watches for kernels that are compiled after its start."""
    late: dict[str, None] = field(default_factory=dict)

    def hear(self, text: str) -> None:
        """Take note of what one message states."""
        self.compiled = self.compiled or _COMPILED.search(text) is not None
        self.loaded = self.loaded or _LOADED.search(text) is not None
        self.watched = self.watched or _WATCHED.search(text) is not None
        if unknown := _UNKNOWN.search(text):
            self.unknown[unknown["name"]] = None
        if late := _LATE.search(text):
            self.late[late["kernel"]] = None

    def settings(self) -> dict[str, str]:
        """Say where torch.compile's graphs are from, where the log tells."""
        states = {
            (True, False): "compiled",
            (False, True): "loaded",
            (True, True): "loaded in part",
        }
        state = states.get((self.compiled, self.loaded))
        return {} if state is None else {"compile_cache": state}

    def counts(self, settings: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
        """List what a metric counts, by metric; a metric that the log cannot tell is left out.

        Args:
            settings: What the engine was started with.
        """
        found: dict[str, Iterable[str]] = {}
        if _version(settings.get("vllm", "")) >= _REPORTS_UNKNOWN:
            found["unknown_variables"] = self.unknown
        if self.watched:
            found["late_compilations"] = self.late
        return {metric: tuple(names) for metric, names in found.items()}


def _version(text: str) -> tuple[int, ...]:
    found = re.match(r"(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found else ()
