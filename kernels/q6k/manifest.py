"""What the q6_K matrix-vector family states about itself."""

from dataclasses import replace

from guardrail.families.interface import Arm, Build, Family, Gate, Kernel, Operation
from guardrail.kernels.kquants import controls as kquants_controls
from guardrail.kernels.kquants import knob as cuda_knob
from guardrail.kernels.kquants import quantize_subjects, served_subjects
from guardrail.kernels.q6k import controls, geometry, knob, twins

_PACKAGE = "guardrail.kernels.q6k"

_TENSORS = {"weights": "*u8:16", "activations": "*u8:16", "output": "*fp32:16"}
_STRIDES = (("raw", geometry.RAW_BLOCK_BYTES), ("padded", geometry.PADDED_BLOCK_BYTES))

_V1 = Kernel(
    name="mmvq_v1",
    function=f"{_PACKAGE}.mmvq_v1:mmvq_v1",
    builds=tuple(
        Build(
            name=name,
            signature={**_TENSORS, "rows": "i32", "halves": "i32"},
            constants={
                "BLOCK_BYTES": block_bytes,
                "ROWS": geometry.ROWS,
                "BLOCK_HALVES": geometry.V1_BLOCK_HALVES,
            },
            warps=geometry.WARPS,
            fp_fusion=False,
        )
        for name, block_bytes in _STRIDES
    ),
)
_DEQUANTIZE = Kernel(
    name="dequantize_q6k",
    function=f"{_PACKAGE}.dequantize_q6k:dequantize_q6k",
    builds=tuple(
        Build(
            name=name,
            signature={"weights": "*u8:16", "output": "*fp32:16", "blocks": "i32"},
            constants={"BLOCK_BYTES": block_bytes, "BLOCKS": geometry.DEQUANTIZED_BLOCKS},
        )
        for name, block_bytes in _STRIDES
    ),
)
_ARM_KERNELS = tuple(
    replace(kernel, controls=kquants_controls.of_kernel(kernel, spilling_registers=32, enlarged="ROWS"))
    for kernel in (
        Kernel(name=name, function=f"{_PACKAGE}.{name}:{name}", builds=(twins.build(name),))
        for name in twins.KERNELS
    )
)

_MATVEC = Operation(
    name="matvec",
    work_unit="32-element unit",
    arms=(
        *(
            Arm(name, launches=(f"mmvq_{name}",), covered_units=f"{_PACKAGE}.coverage:covered_by_{name}")
            for name in ("v2_pf_dpl", "v2_dpl", "v2_pf", "v2", "v1")
        ),
        Arm(
            "dequantized",
            launches=("dequantize_q6k",),
            covered_units=f"{_PACKAGE}.coverage:covered_by_dequantized",
        ),
    ),
    units=f"{_PACKAGE}.coverage:units",
    exposing=f"{_PACKAGE}.trials:exposing",
    random=f"{_PACKAGE}.trials:random",
    cases=({"id": 256}, {"id": 288}, {"id": 5120}, {"id": 13824}, {"id": 18944}, {"id": 512, "tokens": 3}),
    same_bits=(("v2_pf", "v2"), ("v2_dpl", "v2"), ("v2_pf_dpl", "v2_pf")),
    timed_cases={
        "lm-head-14b": {"id": 5120, "rows": 152_064},
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

_SERVED = served_subjects.operation(_MATVEC, _PACKAGE, ("v2_pf_dpl", "v2_dpl", "v2_pf", "v2"))
_SERVED_GATE = served_subjects.gate(_GATE, _SERVED)

FAMILY = Family(
    name="q6k",
    title="q6_K x q8 matrix-vector product of decode, and the quantization of its activations",
    kernels=(
        *_ARM_KERNELS,
        replace(_V1, controls=kquants_controls.of_kernel(_V1, spilling_registers=24, enlarged="ROWS")),
        replace(
            _DEQUANTIZE,
            controls=kquants_controls.of_kernel(_DEQUANTIZE, spilling_registers=24, enlarged="BLOCKS"),
        ),
        quantize_subjects.KERNEL,
    ),
    operations=(
        replace(_MATVEC, controls=controls.of_operation(_MATVEC)),
        replace(_SERVED, controls=controls.of_served_operation(_SERVED)),
        quantize_subjects.OPERATION,
    ),
    gates=(
        replace(_GATE, controls=controls.of_gate(_GATE)),
        replace(_SERVED_GATE, controls=controls.of_served_gate(_SERVED_GATE)),
    ),
    twins=twins.TWINS,
    knobs={
        knob.PIPELINED: "Whether rows of two tiles may take v2_pf: true, 1 or on; false, 0 or off.",
        cuda_knob.CUDA: cuda_knob.MEANING,
    },
)
