"""What the q4_K matrix-vector family states about itself."""

from dataclasses import replace

from guardrail.families.interface import Arm, Build, Family, Gate, Kernel, Operation
from guardrail.kernels.kquants import controls as kquants_controls
from guardrail.kernels.kquants import knob, served_subjects
from guardrail.kernels.kquants.geometry import BLOCK_ELEMENTS
from guardrail.kernels.q4k import controls, geometry

_PACKAGE = "guardrail.kernels.q4k"

_MMVQ = Kernel(
    name="mmvq_q4k",
    function=f"{_PACKAGE}.mmvq:mmvq_q4k",
    builds=(
        Build(
            name="any_row",
            signature={
                "weights": "*u8:16",
                "activations": "*u8:16",
                "output": "*fp32:16",
                "rows": "i32",
                "units": "i32",
            },
            constants={"ROWS": geometry.ROWS, "BLOCK_UNITS": geometry.BLOCK_UNITS, "DP4A": True},
            warps=geometry.WARPS,
            fp_fusion=False,
        ),
    ),
)
_DEQUANTIZE = Kernel(
    name="dequantize_q4k",
    function=f"{_PACKAGE}.dequantize_q4k:dequantize_q4k",
    builds=(
        Build(
            name="any_matrix",
            signature={"weights": "*u8:16", "output": "*fp32:16", "blocks": "i32"},
            constants={"BLOCKS": geometry.DEQUANTIZED_BLOCKS},
            fp_fusion=False,
        ),
    ),
)

_MATVEC = Operation(
    name="matvec",
    work_unit="64-element unit",
    arms=(
        Arm("mmvq", launches=("mmvq_q4k",), covered_units=f"{_PACKAGE}.coverage:covered_by_mmvq"),
        Arm(
            "dequantized",
            launches=("dequantize_q4k",),
            covered_units=f"{_PACKAGE}.coverage:covered_by_dequantized",
        ),
    ),
    units=f"{_PACKAGE}.coverage:units",
    exposing=f"{_PACKAGE}.trials:exposing",
    random=f"{_PACKAGE}.trials:random",
    cases=({"id": 256}, {"id": 320}, {"id": 5120}, {"id": 18944}, {"id": 512, "tokens": 3}),
    timed_cases={
        "gate-up-14b": {"id": 5120, "rows": 27_648},
        "ffn-down-14b": {"id": 13_824, "rows": 5120},
    },
    work=f"{_PACKAGE}.work:work",
)

_GATE = Gate(
    name="mmvq",
    operation=_MATVEC,
    pick=f"{_PACKAGE}.gate:pick",
    domain=f"{_PACKAGE}.gate:domain",
    model_cases=f"{_PACKAGE}.gate:model_cases",
    executed=f"{_PACKAGE}.coverage:interpretable",
)

_WHOLE_BLOCKS = tuple(case for case in _MATVEC.cases if int(case["id"]) % BLOCK_ELEMENTS == 0)
_SERVED = served_subjects.operation(replace(_MATVEC, cases=_WHOLE_BLOCKS), _PACKAGE, ("mmvq",))
_SERVED_GATE = replace(served_subjects.gate(_GATE, _SERVED), domain=f"{_PACKAGE}.gate:whole_block_domain")

FAMILY = Family(
    name="q4k",
    title="q4_K x q8 matrix-vector product of decode",
    kernels=(
        replace(_MMVQ, controls=kquants_controls.of_kernel(_MMVQ, spilling_registers=32, enlarged="ROWS")),
        replace(
            _DEQUANTIZE,
            controls=kquants_controls.of_kernel(
                _DEQUANTIZE, spilling_registers=24, enlarged="BLOCKS", squeezed_times=4
            ),
        ),
    ),
    operations=(
        replace(_MATVEC, controls=kquants_controls.of_operation(_MATVEC, f"{_PACKAGE}.faulty_launches")),
        replace(_SERVED, controls=controls.of_served_operation(_SERVED)),
    ),
    gates=(
        replace(_GATE, controls=controls.of_gate(_GATE)),
        replace(_SERVED_GATE, controls=controls.of_served_gate(_SERVED_GATE)),
    ),
    knobs={knob.CUDA: knob.MEANING},
)
