"""The compilations of each kernel that guards are anchored to."""

import math

from guardrail.families.interface import Build, Scalar
from guardrail.kernels.int4_attention import tuning

_BLOCK_SIZE = 16
_HOPPER_ARCH = "sm_90"
_OTHER_ARCHS = ("sm_80", "sm_86", "sm_87", "sm_89", "sm_100", "sm_103", "sm_110", "sm_120", "sm_121")
_OTHER_CAPABILITY = (8, 6)
"""Stands for every compute capability but Hopper's, which has launch shapes of its own."""

# Types are those of a launch: an integer is 32 bits wide where it fits, and its divisor is Triton's.
_INPUTS = {
    "query_ptr": "*fp16:16",
    "cache_ptr": "*i32:16",
    "block_table_ptr": "*i32:16",
    "seq_lens_ptr": "*i32:16",
    "query_starts_ptr": "*i32:16",
}
_INPUT_STRIDES = {
    "query_stride_token": "i32:16",
    "query_stride_head": "i32:16",
    "table_stride": "i32",
    "stride_block": "i32:16",
    "stride_head": "i32:16",
}
_OUTPUT_STRIDES = {"output_stride_token": "i32:16", "output_stride_head": "i32:16"}
_PARTIALS = {"partial_ptr": "*fp32:16", "maximum_ptr": "*fp32:16", "exp_sum_ptr": "*fp32:16"}
_SIGNS = {"signs_ptr": "*fp32:16"}
_SCRATCH = {"segments": "i32", "scratch_rows": "i32"}


def attend_builds() -> tuple[Build, ...]:
    """Compile a prefill of 24 query and 4 KV heads of 256, and one of 32 and 8 of 128 with a window."""
    signature = {"output_ptr": "*fp16:16", **_INPUTS, "score_scale": "fp32"}
    signature |= {**_OUTPUT_STRIDES, **_INPUT_STRIDES}
    return (
        *_attention_builds("prefill-head256", signature, 256, 6, query_len=64, window=0, sinks_ptr=None),
        *_attention_builds(
            "prefill-head128-window", signature, 128, 4, query_len=64, window=4096, sinks_ptr=None
        ),
    )


def segment_builds() -> tuple[Build, ...]:
    """Compile decode and verify for 24 query and 4 KV heads of 256, windowed verify for 32 and 8 of 128."""
    signature = {**_PARTIALS, **_INPUTS, "score_scale": "fp32", **_SCRATCH, **_INPUT_STRIDES}
    return (
        *_attention_builds("decode-head256", signature, 256, 6, query_len=1, window=0, PDL=False),
        *_attention_builds("verify-head256", signature, 256, 6, query_len=8, window=0, PDL=False),
        *_attention_builds("verify-head128-window", signature, 128, 4, query_len=8, window=4096, PDL=False),
    )


def reduction_builds() -> tuple[Build, ...]:
    """Compile a head size of 256, with outputs left rotated and rotated back, and the latter of 128.

    The last writes q8 groups, as a decode step has it.
    """
    signature = {"output_ptr": "*fp16:16", **_PARTIALS, "seq_lens_ptr": "*i32:16"}
    signature |= {"query_starts_ptr": "*i32:16", **_SCRATCH, **_OUTPUT_STRIDES}
    constants: dict[str, Scalar | None] = {
        "sinks_ptr": None,
        "HEAD_SIZE": 256,
        "HEAD_PADDED": 256,
        "GROUP": 6,
        "TILE": tuning.shape_of(_OTHER_CAPABILITY, 6, 256).tile,
        "CHUNK": tuning.REDUCED_SEGMENTS,
        "DIMS": tuning.REDUCED_DIMS,
        "PDL": False,
    }
    written = {**constants, "groups_ptr": None}
    of_128 = {"HEAD_SIZE": 128, "HEAD_PADDED": 128, "DIMS": 128}
    return (
        Build("head256", signature, {**written, "signs_ptr": None}, tuning.REDUCTION_WARPS),
        Build(
            "head256-rotated",
            {**signature, **_SIGNS},
            {**written, "DIMS": 256},
            tuning.rotated_reduction_warps(256),
        ),
        Build(
            "head128-rotated",
            {**signature, **_SIGNS},
            {**written, **of_128},
            tuning.rotated_reduction_warps(128),
        ),
        Build(
            "head128-quantized",
            {**signature, **_SIGNS, "groups_ptr": "*u8:16"},
            {**constants, **of_128},
            tuning.rotated_reduction_warps(128),
        ),
    )


def rotation_builds() -> tuple[Build, ...]:
    """Compile the rotation of 24 query heads of 256, and the way back."""
    signature = {"rotated_ptr": "*fp16:16", "rows_ptr": "*fp16:16", **_SIGNS, "query_starts_ptr": "*i32:16"}
    signature |= {"sequences": "i32", "rotated_stride_token": "i32:16", "rotated_stride_head": "i32:16"}
    signature |= {"stride_token": "i32:16", "stride_head": "i32:16"}
    constants: dict[str, Scalar | None] = {
        "HEADS": 24,
        "HEAD_SIZE": 256,
        "HEAD_PADDED": 256,
        "BLOCK": 256,
        "ROWS": tuning.ROTATED_ROWS,
    }
    return tuple(
        Build(name, signature, {**constants, "BACK": back})
        for name, back in (("queries-head256", False), ("outputs-head256", True))
    )


def write_builds() -> tuple[Build, ...]:
    """Compile head sizes of 256 and 128, of rows that are rotated already and of rows that are not."""
    signature = {
        "key_ptr": "*fp16:16",
        "value_ptr": "*fp16:16",
        "slots_ptr": "*i64:16",
        "key_bytes_ptr": "*u8:16",
        "key_scale_ptr": "*fp32",
        "value_bytes_ptr": "*u8",
        "value_scale_ptr": "*fp32",
        "key_stride_token": "i64:16",
        "key_stride_head": "i64:16",
        "value_stride_token": "i64:16",
        "value_stride_head": "i64:16",
        "stride_block": "i64",
        "stride_head": "i64",
        "stride_slot": "i64",
        "scale_stride_block": "i64",
        "scale_stride_head": "i64",
        "scale_stride_slot": "i64",
    }
    sizes: dict[int, dict[str, Scalar | None]] = {
        head_size: {"HEAD_SIZE": head_size, "HALF_PADDED": head_size // 2, "BLOCK_SIZE": _BLOCK_SIZE}
        for head_size in (256, 128)
    }
    warps = tuning.WRITE_WARPS
    return (
        *(
            Build(f"head{size}", signature, {**constants, "signs_ptr": None}, warps)
            for size, constants in sizes.items()
        ),
        *(
            Build(f"head{size}-rotated", {**signature, **_SIGNS}, constants, warps)
            for size, constants in sizes.items()
        ),
    )


def _attention_builds(
    name: str,
    signature: dict[str, str],
    head_size: int,
    group: int,
    query_len: int,
    window: int,
    **further: Scalar | None,
) -> tuple[Build, ...]:
    """Compile one query in the launch shape of Hopper and in that of the others, where the two differ."""

    def build(shape: tuning.Shape, *archs: str) -> Build:
        constants: dict[str, Scalar | None] = {
            **further,
            "STRIDE_SLOT": head_size // 4 + 2,
            "HEAD_SIZE": head_size,
            "WORDS": head_size // 8,
            "BLOCK_SIZE": _BLOCK_SIZE,
            "RUN": math.gcd(_BLOCK_SIZE, shape.tile),
            "GROUP": group,
            "ROWS": shape.rows,
            "TILE": shape.tile,
            "WINDOW": window,
            "SOFTCAP": 0.0,
            "INLINE_ASM": True,
        }
        return Build(name, signature, constants, warps=shape.warps, stages=shape.stages, archs=archs)

    hopper, other = (
        tuning.shape_of(capability, query_len * group, head_size)
        for capability in (tuning.HOPPER, _OTHER_CAPABILITY)
    )
    if hopper == other:
        return (build(other),)
    return (build(hopper, _HOPPER_ARCH), build(other, *_OTHER_ARCHS))
