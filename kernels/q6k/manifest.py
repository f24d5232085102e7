"""What the q6_K matrix-vector family states about itself."""

from dataclasses import replace

from guardrail.families.interface import Arm, Build, Family, Gate, Kernel, Operation
from guardrail.kernels.q6k import controls, geometry, knob

_PACKAGE = "guardrail.kernels.q6k"

_TENSORS = {"weights": "*u8:16", "activations": "*u8:16", "output": "*fp32:16"}
_ARM_CONSTANTS = {"ROWS": geometry.ROWS, "BLOCK_UNITS": geometry.BLOCK_UNITS, "DP4A": True}

_V1 = Kernel(
    name="mmvq_v1",
    function=f"{_PACKAGE}.mmvq_v1:mmvq_v1",
    builds=tuple(
        Build(
            name=name,
            signature={**_TENSORS, "halves": "i32"},
            constants={"BLOCK_BYTES": block_bytes, "BLOCK_HALVES": geometry.V1_BLOCK_HALVES},
            fp_fusion=False,
        )
        for name, block_bytes in (("raw", geometry.RAW_BLOCK_BYTES), ("padded", geometry.PADDED_BLOCK_BYTES))
    ),
)
_V2 = Kernel(
    name="mmvq_v2",
    function=f"{_PACKAGE}.mmvq_v2:mmvq_v2",
    builds=(
        Build(
            name="any_row",
            signature={**_TENSORS, "rows": "i32", "units": "i32"},
            constants=_ARM_CONSTANTS,
            warps=geometry.WARPS,
            fp_fusion=False,
        ),
    ),
)
_V2_PF = Kernel(
    name="mmvq_v2_pf",
    function=f"{_PACKAGE}.mmvq_v2_pf:mmvq_v2_pf",
    builds=(
        Build(
            name="any_row",
            signature={**_TENSORS, "rows": "i32", "units": "i32"},
            constants={**_ARM_CONSTANTS, "UNITS_PER_LANE": geometry.UNITS_PER_LANE},
            warps=geometry.WARPS,
            fp_fusion=False,
        ),
    ),
)

_MATVEC = Operation(
    name="matvec",
    work_unit="32-element unit",
    arms=(
        Arm("v2_pf", launches=("mmvq_v2_pf",), covered_units=f"{_PACKAGE}.coverage:covered_by_v2_pf"),
        Arm("v2", launches=("mmvq_v2",), covered_units=f"{_PACKAGE}.coverage:covered_by_v2"),
    ),
    units=f"{_PACKAGE}.coverage:units",
    exposing=f"{_PACKAGE}.trials:exposing",
    random=f"{_PACKAGE}.trials:random",
    cases=({"id": 256}, {"id": 5120}, {"id": 13824}, {"id": 18944}),
    same_bits=(("v2_pf", "v2"),),
)

_GATE = Gate(
    name="mmvq",
    operation=_MATVEC,
    pick=f"{_PACKAGE}.gate:pick",
    domain=f"{_PACKAGE}.gate:domain",
    model_cases=f"{_PACKAGE}.gate:model_cases",
    executed=f"{_PACKAGE}.coverage:interpretable",
)

FAMILY = Family(
    name="q6k",
    title="q6_K x q8 matrix-vector product of decode",
    kernels=(
        _V1,
        replace(_V2, controls=controls.of_kernel(_V2, spilling_registers=32)),
        replace(_V2_PF, controls=controls.of_kernel(_V2_PF, spilling_registers=32)),
    ),
    operations=(replace(_MATVEC, controls=controls.of_operation(_MATVEC)),),
    gates=(replace(_GATE, controls=controls.of_gate(_GATE)),),
    knobs={knob.PIPELINED: "Whether rows of two tiles may take v2_pf: true, 1 or on; false, 0 or off."},
)
