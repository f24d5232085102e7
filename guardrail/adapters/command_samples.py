"""One run of a guarded command. Runs in a worker for commands."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from guardrail.adapters.commands import run_command
from guardrail.errors import MeasurementError
from guardrail.results.interface import Stated
from guardrail.results.readers import READERS


def take_samples(
    command: Sequence[str],
    folder: str,
    environment: Mapping[str, str],
    timeout: float,
    reader: str,
    selectors: Mapping[str, str],
    workload: Mapping[str, Stated],
    run: int,
) -> dict[str, Any]:
    """Run a command once and read its metrics.

    Args:
        command: Program and arguments.
        folder: Where it runs.
        environment: Variables that it gets besides those of guardrail itself.
        timeout: Seconds after which it is killed.
        reader: Format of its output.
        selectors: Where each metric is in the output, by the metric's name.
        workload: What the output must state for each of these keys.
        run: Which of the repeated runs this is, from 0; tells their tasks apart.

    Returns:
        Plain data: ``samples``, ``unit`` and ``times`` of each metric by its name.

    Raises:
        MeasurementError: The command fails, a metric is missing, or it did other work than it should have.
    """
    ran = run_command(command, Path(folder), {**os.environ, **environment}, timeout)
    output = READERS[reader](ran.text, command[0])
    found = {}
    for name, selector in selectors.items():
        series = output.series(selector)
        for key, expected in workload.items():
            stated = output.stated(key, series)
            if stated != expected:
                reason = f"{command[0]}: the workload's {key} is {stated!r}, expected {expected!r}"
                raise MeasurementError(reason)
        found[name] = {"samples": series.samples, "unit": series.unit, "times": series.times}
    return found
