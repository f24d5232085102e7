"""Negative controls: each subject with one deliberate defect, and the metrics that must see it."""

from dataclasses import replace

from guardrail.families.interface import Control, Gate, Kernel, Operation

_GATES = "guardrail.kernels.q6k.faulty_gates"
_LAUNCHES = "guardrail.kernels.q6k.faulty_launches"


def of_kernel(kernel: Kernel, spilling_registers: int) -> tuple[Control[Kernel], ...]:
    """State the controls of a kernel's compiled resources.

    Args:
        kernel: The kernel as it is shipped.
        spilling_registers: A cap on its registers that makes it spill on every architecture.
    """
    squeezed = replace(
        kernel, builds=tuple(replace(build, max_registers=spilling_registers) for build in kernel.builds)
    )
    widened = replace(
        kernel,
        builds=tuple(
            replace(build, constants={**build.constants, "ROWS": 4 * int(build.constants["ROWS"] or 1)})
            for build in kernel.builds
        ),
    )
    return (
        Control(
            "register-cap",
            f"the compiler may use {spilling_registers} registers a thread, so it spills",
            squeezed,
            ("spill_bytes", "stack_bytes"),
        ),
        Control(
            "four-times-the-rows",
            "a program computes four times the rows, so it holds more registers and an SM holds fewer blocks",
            widened,
            ("registers", "blocks_per_sm"),
        ),
    )


def of_operation(operation: Operation) -> tuple[Control[Operation], ...]:
    """State the controls of what the arms compute."""
    return (
        Control(
            "dropped-tail",
            "the last block of every row is left out",
            replace(operation, random=f"{_LAUNCHES}:random_without_tail"),
            ("relative_error",),
        ),
        Control(
            "doubled-unit",
            "one unit of every row is added twice",
            replace(operation, random=f"{_LAUNCHES}:random_with_doubled_unit"),
            ("relative_error",),
        ),
        Control(
            "unwritten-row",
            "the last output is never written",
            replace(operation, random=f"{_LAUNCHES}:random_without_last_row"),
            ("unwritten_outputs", "nonfinite_outputs"),
        ),
        Control(
            "reordered-sum",
            "v2 adds the same terms in another order than v2_pf",
            replace(operation, random=f"{_LAUNCHES}:random_with_v2_reordered"),
            ("differing_elements",),
        ),
    )


def of_gate(gate: Gate) -> tuple[Control[Gate], ...]:
    """State the controls of the gate and of what it leads to."""
    return (
        Control(
            "no-upper-bound",
            "rows longer than v2_pf covers are sent to it",
            replace(gate, pick=f"{_GATES}:pick_without_upper_bound"),
            ("uncovered_units", "dropped_units"),
        ),
        Control(
            "never-pipelined",
            "v2_pf is picked for no row at all",
            replace(gate, pick=f"{_GATES}:pick_never_pipelined"),
            ("arms_never_taken",),
        ),
        Control(
            "unexplained",
            "short rows take the slower arm and no reason is stated",
            replace(gate, pick=f"{_GATES}:pick_without_reason"),
            ("unexplained_cases",),
        ),
        Control(
            "one-tile-domain",
            "the gate is declared only for rows of one tile",
            replace(gate, domain=f"{_GATES}:domain_of_one_tile"),
            ("undeclared_cases",),
        ),
        Control(
            "another-kernel",
            "the launcher runs v2 where the gate picked v2_pf",
            _executing(gate, "exposing_always_v2"),
            ("arms_not_reached",),
        ),
        Control(
            "dropped-tail",
            "the last block of every row is left out",
            _executing(gate, "exposing_without_tail"),
            ("dropped_units",),
        ),
        Control(
            "doubled-unit",
            "one unit of every row is added twice",
            _executing(gate, "exposing_with_doubled_unit"),
            ("doubled_units",),
        ),
        Control(
            "unwritten-row",
            "the last output is never written",
            _executing(gate, "exposing_without_last_row"),
            ("unwritten_outputs",),
        ),
    )


def _executing(gate: Gate, exposing: str) -> Gate:
    return replace(gate, operation=replace(gate.operation, exposing=f"{_LAUNCHES}:{exposing}"))
