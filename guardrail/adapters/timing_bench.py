"""One window on the GPU: the card's own rates and all arms and cases, interleaved, outputs checked."""

import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from guardrail.adapters.kineto import profiled
from guardrail.adapters.timing_calls import Call, check_launches, split_calls
from guardrail.adapters.timing_kernels import guardrail_lead_in, guardrail_mark
from guardrail.adapters.timing_rates import RateProbe, flush, rate_probe
from guardrail.adapters.trials import poison, relative_error
from guardrail.errors import MeasurementError
from guardrail.families import RandomTrial
from guardrail.probes.references import resolve
from guardrail.probes.timing_session import COLD, Place, TimedArm, Window, WindowPlan

_LEAD_IN = 20
"""Kernels at the start of a session, where profilers have lost some."""
_RATE_CALLS = 3
"""Calls of each of the card's rates, at either end of a window."""
_POISON = 0xFF


@dataclass(frozen=True, slots=True)
class _Step:
    """One thing that a window does, with a mark before it."""

    run: Callable[[], object]
    timed: int | str | None = None
    """The place or the rate that its time is of; None where its time counts for nothing."""


@dataclass(frozen=True, slots=True)
class _Subject:
    """An arm with what it takes to call it and to check what it computed."""

    timed: TimedArm
    symbols: tuple[str, ...]
    trial: RandomTrial
    reference: list[torch.Tensor]
    kept: list[torch.Tensor]

    def call(self) -> None:
        self.trial.launch(self.timed.arm)

    def poison(self) -> None:
        poison(self.trial, _POISON)

    def keep(self) -> None:
        for kept, output in zip(self.kept, self.trial.outputs, strict=True):
            kept.copy_(output)

    def __str__(self) -> str:
        return f"{self.timed.name}, {self.timed.arm}, {self.timed.cache}"


class Bench:
    """Everything that the windows of a plan need, on the GPU and warm.

    Args:
        plan: What to time.
        seed: Seed of the inputs.
    """

    def __init__(self, plan: WindowPlan, seed: int) -> None:
        self._plan = plan
        self._seed = seed
        self._subjects = list(_subjects(plan, seed))
        self._rates = [rate_probe(name) for name in plan.rates]
        self._flush = flush()
        self._word = torch.zeros(1, dtype=torch.int32, device="cuda")
        self._windows = 0
        for subject in self._subjects:
            subject.poison()
            subject.call()
        self._orders = [self._steps(reverse) for reverse in (False, True)]
        # Also the profiler is warm then, and knows of graphs that are captured from here on.
        self._first = self._calls(self._eager(self._orders[0]), self._orders[0])
        self._replays = [self._prepared(order) for order in self._orders]

    def places(self) -> tuple[Place, ...]:
        """Describe what is timed, with the kernels that its first calls ran."""
        return tuple(_described(subject, self._first[at]) for at, subject in enumerate(self._subjects))

    def exercise(self) -> None:
        """Launch a window's work without looking at it."""
        self._replays[0]()

    def window(self) -> Window:
        """Measure one window, in the opposite order of the one before.

        Raises:
            MeasurementError: The profiler lost a launch, a call ran other kernels than it must, or an arm
                computed something wrong.
        """
        at = self._windows % len(self._orders)
        self._windows += 1
        calls = self._calls(self._replays[at], self._orders[at])
        self._check_outputs()
        busy = {key: statistics.median(call.busy_us for call in of) for key, of in calls.items()}
        span = {key: statistics.median(call.span_us for call in of) for key, of in calls.items()}
        places = range(len(self._subjects))
        return Window(
            rates={rate.name: rate.amount / busy[rate.name] * 1e6 for rate in self._rates},
            busy_us=tuple(busy[place] for place in places),
            span_us=tuple(span[place] for place in places),
        )

    def _steps(self, reverse: bool) -> list[_Step]:
        rates = [step for rate in self._rates for step in _rate_steps(rate)]
        order = list(enumerate(self._subjects))
        steps = [*rates]
        for turn in range(self._plan.calls):
            last = turn == self._plan.calls - 1
            for at, subject in order[::-1] if reverse == (turn % 2 == 0) else order:
                if last:
                    steps.append(_Step(subject.poison))
                steps.append(_Step(self._flush if subject.timed.cache == COLD else subject.call))
                steps.append(_Step(subject.call, at))
                if last:
                    steps.append(_Step(subject.keep))
        return [*steps, *rates]

    def _eager(self, steps: list[_Step]) -> Callable[[], None]:
        def run() -> None:
            for _ in range(_LEAD_IN):
                guardrail_lead_in[(1,)](self._word)
            for step in steps:
                guardrail_mark[(1,)](self._word)
                step.run()

        return run

    def _prepared(self, steps: list[_Step]) -> Callable[[], None]:
        """Make what runs a window: from a captured graph where the plan asks for one."""
        run = self._eager(steps)
        if not self._plan.captured:
            return run
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            run()

        def replay() -> None:
            graph.replay()

        return replay

    def _calls(self, run: Callable[[], None], steps: list[_Step]) -> dict[Any, list[Call]]:
        """Profile a window, and give each timed call to what it is of."""
        calls: dict[Any, list[Call]] = {}
        for step, call in zip(steps, split_calls(profiled(run), len(steps)), strict=True):
            if step.timed is not None:
                calls.setdefault(step.timed, []).append(call)
        for at, subject in enumerate(self._subjects):
            check_launches(str(subject), calls[at], subject.symbols)
        for rate in self._rates:
            check_launches(rate.name, calls[rate.name], ())
        return calls

    def _check_outputs(self) -> None:
        for subject in self._subjects:
            error = relative_error(subject.kept, subject.reference)
            if error is None or error > self._plan.relative_error:
                shown = "not a number" if error is None else f"{error:.3g}"
                raise MeasurementError(
                    f"{subject}: the relative error of a timed call is {shown}, more than "
                    f"{self._plan.relative_error:g} (seed {self._seed}); a wrong kernel has no time"
                )


def _subjects(plan: WindowPlan, seed: int) -> Iterator[_Subject]:
    """Make what is timed; arms of one operation and case share their inputs."""
    trials: dict[object, tuple[RandomTrial, list[torch.Tensor]]] = {}
    for timed in plan.timed:
        shared = (timed.operation.random, frozenset(timed.case.items()))
        if shared not in trials:
            trial: RandomTrial = resolve(timed.operation.random)(timed.case, seed, "cuda")
            trials[shared] = trial, [tensor.to("cuda", torch.float64) for tensor in trial.reference()]
        trial, reference = trials[shared]
        (symbols,) = (arm.launches for arm in timed.operation.arms if arm.name == timed.arm)
        kept = [torch.empty_like(output) for output in trial.outputs]
        yield _Subject(timed, symbols, trial, reference, kept)


def _rate_steps(rate: RateProbe) -> Iterator[_Step]:
    if rate.warm:
        yield _Step(rate.run)
    for _ in range(_RATE_CALLS):
        yield _Step(rate.run, rate.name)


def _described(subject: _Subject, calls: list[Call]) -> Place:
    timed, launches = subject.timed, calls[0].launches
    stated = timed.operation.work
    return Place(
        timed.name,
        timed.arm,
        timed.cache,
        launches=calls[0].names,
        registers=max((launch.registers for launch in launches if launch.registers), default=None),
        shared_bytes=max(
            (launch.shared_bytes for launch in launches if launch.shared_bytes is not None), default=None
        ),
        work=resolve(stated)(timed.case, timed.arm) if stated else None,
    )
