"""Negative controls that every quantized product states: a deliberate defect, and the metrics that see it."""

from dataclasses import replace

from guardrail.families.interface import Control, Gate, Kernel, Operation, Reference


def of_kernel(
    kernel: Kernel, spilling_registers: int, enlarged: str, times: int = 4, squeezed_times: int = 1
) -> tuple[Control[Kernel], ...]:
    """State the controls of a kernel's compiled resources.

    Args:
        kernel: The kernel as it is shipped.
        spilling_registers: A cap on its registers that makes it spill on every architecture.
        enlarged: The constant that says how much a program computes.
        times: How many times as much it must compute for an SM to hold fewer blocks.
        squeezed_times: How many times as much it must compute for the cap to make it spill.
    """
    what = enlarged.lower()
    as_much = f", computing {squeezed_times} times the {what}" if squeezed_times > 1 else ""
    return (
        Control(
            "register-cap",
            f"the compiler may use {spilling_registers} registers a thread{as_much}, so it spills",
            _changed(kernel, enlarged, squeezed_times, spilling_registers),
            ("spill_bytes", "stack_bytes"),
        ),
        Control(
            f"more-{what}",
            f"a program computes {times} times the {what}, so it holds more registers and an SM holds fewer "
            "blocks",
            _changed(kernel, enlarged, times, None),
            ("registers", "blocks_per_sm"),
        ),
    )


def _changed(kernel: Kernel, enlarged: str, times: int, max_registers: int | None) -> Kernel:
    builds = tuple(
        replace(
            build,
            constants={**build.constants, enlarged: times * int(build.constants[enlarged] or 1)},
            max_registers=max_registers,
        )
        for build in kernel.builds
    )
    return replace(kernel, builds=builds)


def of_operation(operation: Operation, launches: Reference) -> tuple[Control[Operation], ...]:
    """State the controls of what the arms compute.

    Args:
        operation: The operation as it is shipped.
        launches: Module of the family's faulty launchers.
    """

    def mutant(random: str) -> Operation:
        return replace(operation, random=f"{launches}:{random}")

    return (
        Control(
            "dropped-tail",
            "the last block of every row is left out",
            mutant("random_without_tail"),
            ("relative_error",),
        ),
        Control(
            "doubled-unit",
            "one unit of every row is added twice",
            mutant("random_with_doubled_unit"),
            ("relative_error",),
        ),
        Control(
            "unwritten-row",
            "the last output is never written",
            mutant("random_without_last_row"),
            ("unwritten_outputs", "nonfinite_outputs"),
        ),
    )


def of_gate(gate: Gate, gates: Reference, launches: Reference) -> tuple[Control[Gate], ...]:
    """State the controls of a gate and of what it leads to.

    Args:
        gate: The gate as it is shipped.
        gates: Module of the family's faulty gates.
        launches: Module of the family's faulty launchers.
    """
    return (
        Control(
            "any-tokens",
            "two tokens are sent to an arm that computes one",
            replace(gate, pick=f"{gates}:pick_for_any_tokens"),
            ("uncovered_units",),
        ),
        Control(
            "dropped-tail",
            "the last block of every row is left out",
            executing(gate, f"{launches}:exposing_without_tail"),
            ("dropped_units",),
        ),
        Control(
            "doubled-unit",
            "one unit of every row is added twice",
            executing(gate, f"{launches}:exposing_with_doubled_unit"),
            ("doubled_units",),
        ),
        Control(
            "unwritten-row",
            "the last output is never written",
            executing(gate, f"{launches}:exposing_without_last_row"),
            ("unwritten_outputs",),
        ),
    )


def executing(gate: Gate, exposing: Reference) -> Gate:
    """Replace the trials that a gate's arms are executed on.

    Args:
        gate: The gate as it is shipped.
        exposing: The other trials.
    """
    return replace(gate, operation=replace(gate.operation, exposing=exposing))


def slower(operation: Operation, trials: Reference) -> Control[Operation]:
    """State the twin that does 5% more work, which timing guards must see.

    Args:
        operation: The operation as it is shipped.
        trials: Module of the family's trials of what serves.
    """
    return Control(
        "five-percent-more",
        "every product has 5% more rows",
        replace(operation, random=f"{trials}:random_with_more_rows"),
        ("time", "span", "content_rate", "streamed_rate", "dram_read_fraction", "l2_read_fraction"),
    )
