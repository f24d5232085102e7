"""Probe ``quality``: perplexity on given texts, and exact answers to given questions."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, model_validator

from guardrail.compiled.file_subject import FileSubject
from guardrail.probes.interface import Context, Measuring, Probe
from guardrail.probes.this_machine import not_for_this_machine, present_profile
from guardrail.quality.questions import Match
from guardrail.records.measurement import Finding, Measurement, Metric, Unmeasured
from guardrail.records.task import Done, Environment, Task
from guardrail.spec.anchors import EVIDENCE_PATTERN
from guardrail.spec.fields import Strict, Text
from guardrail.spec.guards import Guard
from guardrail.spec.profiles import Count

CONFIDENCE = 0.95
_LONGEST_SESSION = 86_400.0
"""Seconds; each boot has a limit of its own."""

OneMatch = Annotated[Match, Field(strict=False)]


class Pinned(Strict):
    """A file whose content is agreed on."""

    file: Text = Field(description="The file, relative to the guards file.")
    hash: Annotated[str, Field(pattern=EVIDENCE_PATTERN)] = Field(
        description="sha256: and the hash of its content; another content is an error."
    )


class QualityGuard(Guard):
    """A guard on what an engine says."""

    texts: list[Pinned] = Field(default=[], description="Texts whose perplexity is measured.")
    questions: Pinned | None = Field(
        None, description='Questions, one JSON object a line: {"prompt": ..., "answer": ...}.'
    )
    against: Text | None = Field(None, description="Description of another engine, given the same texts.")
    match: OneMatch = Field(Match.NUMBER, description="What is right: the last number, or the whole text.")
    window_characters: int = Field(1200, ge=8, description="Characters of a text that are scored together.")
    windows: Count = Field(40, description="Windows of each text at most, the first ones.")
    answer_tokens: Count = Field(256, description="Tokens that an answer may have.")
    devices: list[str] = Field(
        default=[], description="Device profiles that the guard is for; skipped on every other machine."
    )

    @property
    def pinned(self) -> tuple[Pinned, ...]:
        """List every file that the engine is asked with."""
        return (*self.texts, *(() if self.questions is None else (self.questions,)))

    @property
    def further_files(self) -> tuple[str, ...]:
        """Name the files that the measurements depend on besides the subject."""
        return tuple(each.file for each in self.pinned)

    @model_validator(mode="after")
    def _asks_what_is_bounded(self) -> "QualityGuard":
        needed = {
            "perplexity": ("texts", bool(self.texts)),
            "perplexity_ratio": ("texts' and 'against", bool(self.texts) and self.against is not None),
            "accuracy": ("questions", self.questions is not None),
        }
        for metric in self.require:
            key, stated = needed.get(metric, ("", True))
            if not stated:
                raise ValueError(f"{metric} needs '{key}'")
        return self


class QualityProbe(Probe[QualityGuard]):
    """Gives an engine texts and questions from files."""

    guard = QualityGuard
    subjects = (FileSubject,)
    metrics = (
        Metric("perplexity", "ppl", "exp of the mean negative log-likelihood of a text's tokens."),
        Metric("perplexity_ratio", "x", "Perplexity over the other engine's, paired by window."),
        Metric("accuracy", "ratio", "Share of the questions that were answered rightly."),
    )

    def measure(self, guard: QualityGuard, subject: FileSubject, context: Context) -> Measuring:
        """See `Probe.measure`."""
        if skipped := not_for_this_machine(guard.devices, context):
            return [skipped]
        folder = Path(context.folder)
        (outcome,) = yield [
            Task(
                "guardrail.adapters.vllm_engine.quality:judge_quality",
                {
                    "subject": subject,
                    "against": None if guard.against is None else str(folder / guard.against),
                    "texts": [_plain(text, folder) for text in guard.texts],
                    "questions": None if guard.questions is None else _plain(guard.questions, folder),
                    "match": guard.match.value,
                    "window_characters": guard.window_characters,
                    "most_windows": guard.windows,
                    "answer_tokens": guard.answer_tokens,
                    "confidence": CONFIDENCE,
                },
                Environment.COMMAND,
                timeout=_LONGEST_SESSION,
                reusable=False,
            )
        ]
        if not isinstance(outcome, Done):
            return [Unmeasured(outcome.reason)]
        device = present_profile(context)
        return list(self._measurements(outcome.value, {"device": device} if device else {}))

    def _measurements(self, rows: list[dict[str, Any]], where: Mapping[str, str]) -> Iterator[Measurement]:
        units = {metric.name: metric.unit for metric in self.metrics}
        for row in rows:
            yield Measurement(
                metric=row["metric"],
                unit=units[row["metric"]],
                value=row["value"],
                where={"file": row["file"], **where},
                interval=tuple(row["interval"]),
                inspected=row["inspected"],
                findings=(Finding(row["told"]),),
            )


def _plain(pinned: Pinned, folder: Path) -> dict[str, str]:
    return {"name": pinned.file, "path": str(folder / pinned.file), "hash": pinned.hash}
