"""The keys of a guard on a command."""

import re
import shlex
from collections.abc import Mapping
from typing import Annotated

from pydantic import Field, StrictBool, StrictFloat, StrictInt, StrictStr, field_validator, model_validator

from guardrail.probes.memory_rate import RATE
from guardrail.results.readers import READERS, require_selector
from guardrail.spec.fields import Strict, Text
from guardrail.spec.guards import Guard
from guardrail.spec.suggest import did_you_mean
from guardrail.stats.intervals import samples_needed

CONFIDENCE = 0.95
SUBJECT = "{subject}"
"""Stands in a command for the path of the guard's subject."""

_SELECTORS: Mapping[str, str] = {"json": "path", "regex": "regex", "regex-all": "regex"}
_METRIC = re.compile(r"[a-z][a-z0-9_]*")

Command = str | Annotated[list[str], Field(min_length=1)]
Environment = dict[str, str]
Workload = dict[str, StrictBool | StrictInt | StrictFloat | StrictStr]


class Selection(Strict):
    """Where one metric is in the command's output."""

    path: str | None = Field(None, description="Path in a JSON document: results[0].rate.")
    regex: str | None = Field(None, description="Regular expression with one group around the number.")
    name: str | None = Field(None, description="Name that the output's format has for it.")
    unit: str | None = Field(None, description="Unit, where the format does not tell.")
    exact: bool = Field(False, description="Counted, not timed: every run must give the same number.")
    ratio: bool = Field(False, description="Over what the file under 'against' gives, paired by run.")
    bytes_each: int | None = Field(
        None,
        gt=0,
        description="Bytes that each of what is counted reads of the device's memory, as the weights of a "
        "token: a rate that the memory cannot deliver is an error.",
    )

    @property
    def selectors(self) -> dict[str, str]:
        """Collect what is stated of path, regex and name."""
        stated = {"path": self.path, "regex": self.regex, "name": self.name}
        return {key: value for key, value in stated.items() if value is not None}

    @property
    def selector(self) -> str:
        """Give the selector in its reader's own terms; a guard that was loaded has one."""
        return next(iter(self.selectors.values()))


class CommandGuard(Guard):
    """A guard on what a command measures of itself."""

    command: Command = Field(description="Program and arguments; {subject} stands for the subject's path.")
    reader: str = Field("json", description="Format of the output: " + ", ".join(READERS) + ".")
    metrics: Annotated[dict[str, Selection], Field(min_length=1)] = Field(
        description="Where each metric is in the output, by a name of your own."
    )
    workload: Workload = Field(
        default={}, description="What the output must state, so that only like is compared with like."
    )
    against: Text | None = Field(
        None, description="File of a base build, on which the same command runs in turns."
    )
    repeat: int = Field(6, ge=1, le=1000, description="How many times the command is run.")
    timeout_seconds: float = Field(600.0, gt=0, description="When a run is killed.")
    environment: Environment = Field(default={}, description="Environment variables to run it with.")
    control_command: Command | None = Field(
        None, description="A command with a deliberate defect, which must turn the guard red."
    )

    @field_validator("reader")
    @classmethod
    def _is_known(cls, reader: str) -> str:
        if reader not in READERS:
            raise ValueError(f"there is no reader {reader!r}{did_you_mean(reader, READERS)}")
        return reader

    @field_validator("repeat")
    @classmethod
    def _suffices(cls, repeat: int) -> int:
        needed = samples_needed(CONFIDENCE)
        if 1 < repeat < needed:
            raise ValueError(
                f"{repeat} runs are too few for an interval; write {needed} or more, "
                f"or 1 for a command that takes {needed} samples or more itself"
            )
        return repeat

    @field_validator("command", "control_command")
    @classmethod
    def _is_words(cls, command: Command | None) -> Command | None:
        if command is not None and not words_of(command):
            raise ValueError("a command is empty")
        return command

    @field_validator("metrics")
    @classmethod
    def _are_named(cls, metrics: dict[str, Selection]) -> dict[str, Selection]:
        for name in metrics:
            if not _METRIC.fullmatch(name):
                raise ValueError(f"{name!r} is no metric's name; write lower-case letters, digits and '_'")
        return metrics

    @model_validator(mode="after")
    def _fits_together(self) -> "CommandGuard":
        wanted = _SELECTORS.get(self.reader, "name")
        for name, selection in self.metrics.items():
            if list(selection.selectors) != [wanted]:
                raise ValueError(f"metric {name}: reader {self.reader} takes {wanted!r}, and it alone")
            if wanted != "name":
                require_selector(self.reader, selection.selector)
            if wanted != "name" and selection.unit is None:
                raise ValueError(f"metric {name}: give it a 'unit'; a {self.reader} output has none")
            if selection.bytes_each is not None and (selection.ratio or selection.exact):
                raise ValueError(f"metric {name}: 'bytes_each' goes with a rate, not with 'ratio' or 'exact'")
            if selection.bytes_each is not None and not (selection.unit or RATE).endswith(RATE):
                raise ValueError(
                    f"metric {name}: 'bytes_each' goes with a rate, and {selection.unit} is none"
                )
        for key in self.workload:
            require_selector(self.reader, key)
        self._require_pairs()
        if not any(SUBJECT in word for word in words_of(self.command)):
            raise ValueError(
                f"the command must name its subject as {SUBJECT}, so that the file whose hash is kept "
                "is the one that runs"
            )
        if self.control is not None and self.control_command is not None:
            raise ValueError("'control' goes without 'control_command'")
        return self

    def _require_pairs(self) -> None:
        ratios = [name for name, selection in self.metrics.items() if selection.ratio]
        if bool(ratios) != (self.against is not None):
            raise ValueError("'against' and a metric with 'ratio: true' go together")
        if ratios and self.repeat == 1:
            raise ValueError(f"metric {ratios[0]}: a ratio takes pairs of runs; leave 'repeat' out")
        if exact := [name for name in ratios if self.metrics[name].exact]:
            raise ValueError(f"metric {exact[0]}: 'ratio' goes without 'exact'")


def words_of(command: Command) -> list[str]:
    """Split a command into program and arguments as a shell would, but for anything that only a shell does.

    Raises:
        ValueError: A quotation is not closed.
    """
    return shlex.split(command) if isinstance(command, str) else command
