"""Negative controls: each subject with one deliberate defect, and the metrics that must see it."""

from dataclasses import replace

from guardrail.families import Control, Gate, Kernel, Operation

_GATES = "rms_norm.faulty_gates"
_LAUNCHES = "rms_norm.faulty_launches"


def of_kernel(kernel: Kernel) -> Kernel:
    """Give a kernel the controls of its compiled resources."""
    capped = tuple(replace(build, max_registers=16) for build in kernel.builds)
    widened = tuple(replace(build, warps=4 * build.warps) for build in kernel.builds)
    return replace(
        kernel,
        controls=(
            Control(
                "register-cap",
                "the compiler may use 16 registers a thread, so it spills",
                replace(kernel, builds=capped),
                ("spill_bytes",),
            ),
            Control(
                "four-times-the-warps",
                "a program has four times the warps, so an SM holds fewer programs",
                replace(kernel, builds=widened),
                ("blocks_per_sm",),
            ),
        ),
    )


def of_operation(operation: Operation) -> Operation:
    """Give the operation the controls of what its arms compute."""
    return replace(
        operation,
        controls=(
            Control(
                "dropped-unit",
                "the last unit of every row is left out",
                replace(operation, random=f"{_LAUNCHES}:random_without_last_unit"),
                ("relative_error",),
            ),
            Control(
                "unwritten-row",
                "the last row is never written",
                replace(operation, random=f"{_LAUNCHES}:random_without_last_row"),
                ("unwritten_outputs", "nonfinite_outputs"),
            ),
        ),
    )


def of_gate(gate: Gate) -> Gate:
    """Give the gate the controls of what it picks and of what that leads to."""
    return replace(
        gate,
        controls=(
            Control(
                "no-bound",
                "rows longer than one pass covers are sent to it",
                replace(gate, pick=f"{_GATES}:pick_without_bound"),
                ("uncovered_units", "dropped_units"),
            ),
            Control(
                "always-looped",
                "one pass is picked for no row, and no reason is stated",
                replace(gate, pick=f"{_GATES}:pick_always_looped"),
                ("arms_never_taken", "unexplained_cases"),
            ),
            Control(
                "one-tile-domain",
                "the gate is declared only for rows of one tile",
                replace(gate, domain=f"{_GATES}:domain_of_one_tile"),
                ("undeclared_cases",),
            ),
            Control(
                "another-kernel",
                "the launcher runs the loop where the gate picked one pass",
                _executing(gate, "exposing_always_looped"),
                ("arms_not_reached",),
            ),
            Control(
                "dropped-unit",
                "the last unit of every row is left out",
                _executing(gate, "exposing_without_last_unit"),
                ("dropped_units",),
            ),
            Control(
                "doubled-unit",
                "the squares of one unit are summed twice",
                _executing(gate, "exposing_with_doubled_unit"),
                ("doubled_units",),
            ),
            Control(
                "unwritten-row",
                "the last row is never written",
                _executing(gate, "exposing_without_last_row"),
                ("unwritten_outputs",),
            ),
        ),
    )


def _executing(gate: Gate, exposing: str) -> Gate:
    return replace(gate, operation=replace(gate.operation, exposing=f"{_LAUNCHES}:{exposing}"))
