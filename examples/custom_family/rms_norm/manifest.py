"""What the family states about itself; imports neither torch nor triton."""

from guardrail.families import Arm, Build, Family, Gate, Kernel, Operation
from rms_norm import controls, geometry

_BUILD = Build(
    name="float32",
    signature={
        "x": "*fp32:16",
        "weight": "*fp32:16",
        "output": "*fp32:16",
        "columns": "i32:16",
        "epsilon": "fp32",
    },
    constants={"tile": geometry.TILE},
    warps=geometry.WARPS,
)
_ONE_PASS = Kernel("one_pass", function="rms_norm.one_pass:rms_norm_one_pass", builds=(_BUILD,))
_LOOPED = Kernel("looped", function="rms_norm.looped:rms_norm_looped", builds=(_BUILD,))

_NORMALIZE = Operation(
    name="normalize",
    work_unit=f"{geometry.UNIT_COLUMNS}-column unit",
    arms=(
        Arm(
            "one_pass",
            launches=("rms_norm_one_pass",),
            covered_units="rms_norm.coverage:covered_by_one_pass",
        ),
        Arm("looped", launches=("rms_norm_looped",), covered_units="rms_norm.coverage:covered_by_looped"),
    ),
    units="rms_norm.coverage:units",
    exposing="rms_norm.trials:exposing",
    random="rms_norm.trials:random",
    cases=({"columns": 64}, {"columns": 3584}, {"columns": 4096}, {"columns": 5120}, {"columns": 16384}),
)
_ROW_LENGTH = Gate(
    name="row_length",
    operation=_NORMALIZE,
    pick="rms_norm.gate:pick",
    domain="rms_norm.gate:domain",
    model_cases="rms_norm.gate:model_cases",
)

FAMILY = Family(
    name="rms_norm",
    title="root-mean-square normalization of rows",
    kernels=(controls.of_kernel(_ONE_PASS), controls.of_kernel(_LOOPED)),
    operations=(controls.of_operation(_NORMALIZE),),
    gates=(controls.of_gate(_ROW_LENGTH),),
)
