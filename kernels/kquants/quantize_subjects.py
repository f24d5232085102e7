"""What the activations' quantization states about itself; a family of products takes it into its manifest."""

from dataclasses import replace

from guardrail.families.interface import Arm, Build, Control, Kernel, Operation
from guardrail.kernels.kquants import controls, geometry

_PACKAGE = "guardrail.kernels.kquants"

_KERNEL = Kernel(
    name="quantize_q8",
    function=f"{_PACKAGE}.quantize_q8:quantize_q8",
    builds=tuple(
        Build(
            name=name,
            signature={"vector": f"*{name}:16", "groups": "*u8:16", "count": "i32"},
            constants={"GROUPS": geometry.QUANTIZED_GROUPS},
            warps=geometry.QUANTIZE_WARPS,
        )
        for name in ("fp16", "bf16", "fp32")
    ),
)
_OPERATION = Operation(
    name="quantize",
    work_unit="32-element group",
    arms=(Arm("quantize_q8", launches=("quantize_q8",), covered_units=f"{_PACKAGE}.quantize_trials:units"),),
    units=f"{_PACKAGE}.quantize_trials:units",
    exposing=None,
    random=f"{_PACKAGE}.quantize_trials:random",
    cases=(
        {"id": 5120, "dtype": "float16"},
        {"id": 5120, "dtype": "bfloat16"},
        {"id": 5120, "dtype": "float32"},
        {"id": 288, "dtype": "float32", "tokens": 3},
    ),
)

KERNEL = replace(
    _KERNEL,
    controls=controls.of_kernel(
        _KERNEL, spilling_registers=32, enlarged="GROUPS", times=8, squeezed_times=16
    ),
)
OPERATION = replace(
    _OPERATION,
    controls=(
        Control(
            "by-reciprocal",
            "values are multiplied with the reciprocal of the scale, which rounds twice",
            replace(_OPERATION, random=f"{_PACKAGE}.faulty_quantize:random_by_reciprocal"),
            ("relative_error",),
        ),
        Control(
            "unwritten-group",
            "the last group of every vector is never written",
            replace(_OPERATION, random=f"{_PACKAGE}.faulty_quantize:random_without_last_group"),
            ("unwritten_outputs",),
        ),
    ),
)
