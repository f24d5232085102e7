"""The engine runs that a guard on logits needs, and the logits that came of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from guardrail.families import DecodeOptions, Engine, Mode, ModelProfile
from guardrail.logits.packing import unpack
from guardrail.logits.prompts import draw_prompts
from guardrail.probes.engine_settings import EngineSettings
from guardrail.probes.logits_guard import AGAINST_REFERENCE, BETWEEN_BATCHES, LogitsGuard
from guardrail.probes.references import modules_of
from guardrail.records.task import Done, Environment, Outcome, Task

if TYPE_CHECKING:
    from numpy.typing import NDArray

_TIMEOUT_SECONDS = 900.0

SUBJECT, REFERENCE, PAIR = "subject", "reference", "pair"

Prompts = Sequence[Sequence[int]]


@dataclass(frozen=True, slots=True)
class EngineRun:
    """One engine, started for one number of sequences."""

    role: str
    """`SUBJECT`, `REFERENCE` or `PAIR`."""
    batch: int
    start: str
    settings: EngineSettings
    modes: tuple[Mode, ...]

    def task(self, engine: Engine, model: ModelProfile, prompts: Prompts) -> Task:
        """Ask for its first steps: a lone sequence on every prompt, one by one; the pair on one batch."""
        batches = [prompts[: self.batch]]
        if self.batch == 1 and self.role != PAIR:
            batches = [[prompt] for prompt in prompts]
        options = DecodeOptions(
            sequences=self.batch, context=len(prompts[0]) + 1, **self.settings.start_options()
        )
        return Task(
            "guardrail.adapters.logits.engine_run:run_first_steps",
            {
                "start": self.start,
                "model": model,
                "options": options,
                "batches": batches,
                "modes": list(self.modes),
                "with_tensors": False,
            },
            Environment.EXECUTE,
            modules_of((*engine.references, self.start)),
            timeout=_TIMEOUT_SECONDS,
        )


@dataclass(frozen=True, slots=True)
class Logits:
    """What every engine of a guard gave."""

    found: "Mapping[tuple[str, int, Mode], NDArray[Any]]"
    """fp32 [prompts, vocabulary], by role, batch and mode."""
    arms: Mapping[int, Sequence[str]]
    """Arms that served the subject, by batch."""

    def of(self, role: str, batch: int, mode: Mode) -> "NDArray[Any] | None":
        """Give one engine's logits; None where it was not run."""
        return self.found.get((role, batch, mode))


def prompts_of(guard: LogitsGuard, model: ModelProfile, seed: int) -> Prompts:
    """Give the prompts that a guard states, or draw them."""
    workload = guard.workload
    if workload.prompts is not None:
        return workload.prompts
    return draw_prompts(model.vocabulary or 1, max(guard.batches), workload.prompt_tokens, seed)


def planned_runs(guard: LogitsGuard, subject: Engine, reference: str | None) -> list[EngineRun]:
    """List the engines that a guard's bounds need, each with its batch.

    Args:
        guard: The guard.
        subject: Its engine.
        reference: Start of the reference engine, if there is one.
    """
    bounded = set(guard.require)
    modes = tuple(dict.fromkeys(guard.modes))
    settings = guard.workload
    batches = sorted(set(guard.batches))
    runs = [EngineRun(SUBJECT, batch, subject.start, settings, modes) for batch in batches]
    if reference is None or not bounded & {*AGAINST_REFERENCE, *BETWEEN_BATCHES}:
        return runs
    runs += [EngineRun(REFERENCE, batch, reference, settings, modes[:1]) for batch in batches]
    if guard.pair is not None:
        runs.append(EngineRun(PAIR, batches[0], reference, guard.pair, modes[:1]))
    return runs


def collect(runs: Sequence[EngineRun], outcomes: Sequence[Outcome]) -> Logits:
    """Put together what the runs that ended well gave."""
    import numpy as np

    found: dict[tuple[str, int, Mode], NDArray[Any]] = {}
    arms: dict[int, Sequence[str]] = {}
    for run, outcome in zip(runs, outcomes, strict=True):
        if not isinstance(outcome, Done):
            continue
        for mode, steps in outcome.value["steps"].items():
            rows = [unpack(step["logits"]) for step in steps]
            found[run.role, run.batch, Mode(mode)] = np.concatenate(rows)
        if run.role == SUBJECT:
            arms[run.batch] = outcome.value["arms"]
    return Logits(found, arms)
