"""The compilations of each kernel that guards are anchored to."""

from guardrail.families.interface import Build, Scalar
from guardrail.kernels.int4_attention import plan, tuning

_BLOCK_SIZE = 16

_QUERY_AND_CACHE = {
    "query_ptr": "*fp16:16",
    "key_ptr": "*u8:16",
    "key_scale_ptr": "*fp32",
    "value_ptr": "*u8",
    "value_scale_ptr": "*fp32",
    "block_table_ptr": "*i32:16",
    "seq_lens_ptr": "*i32:16",
    "query_starts_ptr": "*i32:16",
    "score_scale": "fp32",
}
_CACHE_STRIDES = {
    "stride_block": "i64",
    "stride_head": "i64",
    "stride_slot": "i64",
    "scale_stride_block": "i64",
    "scale_stride_head": "i64",
    "scale_stride_slot": "i64",
}
_INPUT_STRIDES = {"query_stride_token": "i64:16", "query_stride_head": "i64:16", "table_stride": "i64"}
_OUTPUT_STRIDES = {"output_stride_token": "i64:16", "output_stride_head": "i64:16"}
_PARTIALS = {"partial_ptr": "*fp32:16", "maximum_ptr": "*fp32:16", "exp_sum_ptr": "*fp32:16"}


def attend_builds() -> tuple[Build, ...]:
    """Compile decode and verify for 24 query and 4 KV heads of 256, windowed verify for 32 and 8 of 128."""
    signature = {"output_ptr": "*fp16:16", **_QUERY_AND_CACHE, **_OUTPUT_STRIDES, **_INPUT_STRIDES}
    return _attention_builds({**signature, **_CACHE_STRIDES}, {})


def segment_builds() -> tuple[Build, ...]:
    """Compile the shapes of `attend_builds` with 16 segments."""
    signature = {**_PARTIALS, **_QUERY_AND_CACHE, "query_heads": "i32", **_INPUT_STRIDES, **_CACHE_STRIDES}
    return _attention_builds(signature, {"SEGMENTS": plan.SEGMENTS})


def reduction_builds() -> tuple[Build, ...]:
    """Compile 16 segments for head sizes of 256 and 128."""
    signature = {
        "output_ptr": "*fp16:16",
        **_PARTIALS,
        "seq_lens_ptr": "*i32:16",
        "query_starts_ptr": "*i32:16",
    }
    signature |= {"query_heads": "i32", **_OUTPUT_STRIDES}
    return tuple(
        Build(
            name=f"head{head_size}",
            signature=signature,
            constants={
                "HEAD_SIZE": head_size,
                "HEAD_PADDED": head_size,
                "SEGMENTS": plan.SEGMENTS,
                "SEGMENTS_PADDED": plan.SEGMENTS,
                "TILE": tuning.TILE,
            },
        )
        for head_size in (256, 128)
    )


def write_builds() -> tuple[Build, ...]:
    """Compile head sizes of 256 and 128."""
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
        **_CACHE_STRIDES,
    }
    return tuple(
        Build(
            name=f"head{head_size}",
            signature=signature,
            constants={"HEAD_SIZE": head_size, "HALF_PADDED": head_size // 2, "BLOCK_SIZE": _BLOCK_SIZE},
            warps=tuning.WRITE_WARPS,
        )
        for head_size in (256, 128)
    )


def _attention_builds(signature: dict[str, str], more: dict[str, Scalar]) -> tuple[Build, ...]:
    def build(name: str, head_size: int, group: int, query_len: int, window: int) -> Build:
        constants: dict[str, Scalar] = {
            "HEAD_SIZE": head_size,
            "HALF_PADDED": head_size // 2,
            "BLOCK_SIZE": _BLOCK_SIZE,
            "GROUP": group,
            "ROWS": tuning.rows_of_program(query_len * group, head_size),
            "TILE": tuning.TILE,
            "WINDOW": window,
            "SOFTCAP": 0.0,
            **more,
        }
        return Build(name, signature, constants, warps=tuning.WARPS, stages=tuning.STAGES)

    return (
        build("decode-head256", head_size=256, group=6, query_len=1, window=0),
        build("verify-head256", head_size=256, group=6, query_len=8, window=0),
        build("verify-head128-window", head_size=128, group=4, query_len=8, window=4096),
    )
