"""What the family states about itself."""

from dataclasses import replace

from guardrail.families import Arm, Build, Control, Family, Gate, Kernel, Operation, Plan

DOUBLE = Operation(
    name="double",
    work_unit="unit",
    arms=(Arm("tile", (), "tiny.gate:covered_by_tile"), Arm("loop", (), "tiny.gate:units")),
    units="tiny.gate:units",
    exposing="tiny.trials:exposing",
    random="tiny.trials:random",
    cases=({"n": 5}, {"n": 12}),
    same_bits=(("tile", "loop"),),
)
PICK = Gate("pick", DOUBLE, "tiny.gate:pick", "tiny.gate:domain", "tiny.gate:model_cases")
SCRATCH = Plan(
    "scratch", "tiny.plan:configurations", "tiny.plan:capacity", "tiny.plan:demands", "tiny.plan:row_bytes"
)
BROKEN = Kernel("broken", "tiny.kernels:broken", (Build("only", {"out": "*fp32"}, {}),))

FAMILY = Family(
    name="tiny",
    title="doubling",
    kernels=(BROKEN,),
    operations=(
        replace(
            DOUBLE,
            controls=(
                Control(
                    "last-forgotten",
                    "the last element is left out",
                    replace(DOUBLE, random="tiny.trials:random_without_the_last"),
                    ("relative_error",),
                ),
            ),
        ),
    ),
    gates=(PICK,),
    plans=(
        replace(
            SCRATCH,
            controls=(
                Control(
                    "one-row-short",
                    "one row less is planned",
                    replace(SCRATCH, capacity="tiny.plan:smaller_capacity"),
                    ("violations",),
                ),
            ),
        ),
    ),
    knobs={"TINY_REACH": "Longest row that goes to the tile.", "TINY_HANG": "File to write before hanging."},
)
