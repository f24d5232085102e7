"""Driving a probe by hand, with its tasks run in this process or answered by the test."""

import importlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from guardrail.adapters.workers import plain_data
from guardrail.errors import GuardrailError
from guardrail.probes.interface import Context, Measured, Probe
from guardrail.records.measurement import Measurement
from guardrail.records.task import Done, Failed, Outcome, Task

Answer = Callable[[Task], Outcome]


def in_process(task: Task) -> Outcome:
    """Run a task here, as a worker would."""
    module, _, name = task.function.partition(":")
    try:
        value = getattr(importlib.import_module(module), name)(**task.arguments)
    except GuardrailError as error:
        return Failed(str(error))
    return Done(json.loads(json.dumps(value, default=plain_data)), 0.5)


def answering(answers: Mapping[str, Answer]) -> Answer:
    """Answer tasks by their function's name; run the others here."""
    return lambda task: answers.get(task.function.partition(":")[2], in_process)(task)


def measured(
    probe: Probe[Any], guard: Any, subject: Any, context: Context, answer: Answer = in_process
) -> tuple[Measured, list[Sequence[Task]]]:
    """Drive a probe to its end.

    Returns:
        What it measured, and the tasks of each round.
    """
    measuring = probe.measure(guard, subject, context)
    rounds: list[Sequence[Task]] = []
    outcomes: list[Outcome] | None = None
    while True:
        try:
            tasks = next(measuring) if outcomes is None else measuring.send(outcomes)
        except StopIteration as stop:
            return stop.value, rounds
        rounds.append(tasks)
        outcomes = [answer(task) for task in tasks]


def by_metric(found: Measured) -> dict[str, Measurement]:
    """Index measurements, of which each metric has one."""
    named = [item for item in found if isinstance(item, Measurement)]
    assert len({item.metric for item in named}) == len(named)
    return {item.metric: item for item in named}


def sentences(measurement: Measurement) -> list[str]:
    """List the evidence of a measurement."""
    return [finding.sentence for finding in measurement.findings]
