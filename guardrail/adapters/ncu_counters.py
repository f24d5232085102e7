"""Hardware counters of one call, by Nsight Compute over a process that makes nothing else."""

import pickle
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from guardrail.adapters.nsight import profile_with_ncu
from guardrail.errors import MeasurementError
from guardrail.families import Case, Operation
from guardrail.probes.timing_session import COLD


def count(
    operation: Operation, case: Case, arm: str, cache: str, counters: Sequence[str]
) -> list[dict[str, float]]:
    """Count what the kernels of one call do.

    Args:
        operation: The operation that the arm belongs to.
        case: The shape to compute.
        arm: Name of the arm.
        cache: ``cold`` to have ncu flush the caches before every kernel, ``hot`` to leave them.
        counters: Counters by ncu's names.

    Returns:
        For each kernel of the call its ``duration_ns`` and its counters, in base units.

    Raises:
        ToolMissingError: There is no ncu.
        MeasurementError: ncu failed, or saw no kernel.
    """
    with tempfile.TemporaryDirectory() as folder:
        request = Path(folder) / "request"
        with request.open("wb") as file:
            # The path first: what follows may name classes of a user's own family.
            pickle.dump(sys.path, file)
            pickle.dump((operation, case, arm), file)
        control = "all" if cache == COLD else "none"
        trace = profile_with_ncu(
            [sys.executable, "-m", "guardrail.adapters.ncu_target", str(request)],
            counters,
            ["--profile-from-start", "off", "--cache-control", control],
        )
    if not trace.launches:
        raise MeasurementError(f"ncu saw no kernel of {operation.name}, arm {arm}, {dict(case)}")
    return [{"duration_ns": launch.duration_ns, **launch.counters} for launch in trace.launches]
