"""Operations of a served model's size, for the timing guards."""

from dataclasses import replace

from guardrail.families.interface import Arm, Case, Control, Operation, Reference

_HERE = "guardrail.kernels.int4_attention"
_TURNS_RED = (
    "time",
    "span",
    "content_rate",
    "streamed_rate",
    "dram_read_fraction",
    "l2_read_fraction",
    "matrix_fraction",
)


def _at(place: str) -> Reference:
    return f"{_HERE}.{place}"


def _case(query_heads: int, kv_heads: int, head_size: int, query_len: int, context: int) -> Case:
    return {
        "query_heads": query_heads,
        "kv_heads": kv_heads,
        "head_size": head_size,
        "sequences": 1,
        "query_len": query_len,
        "context": context,
    }


_ATTENTION = Operation(
    name="served_attention",
    work_unit="KV token",
    arms=(
        Arm(
            "3d",
            launches=("attend_segments", "reduce_segments"),
            covered_units=_at("served_trials:units"),
        ),
        Arm("2d", launches=("attend",), covered_units=_at("served_trials:units")),
    ),
    units=_at("served_trials:units"),
    exposing=None,
    random=_at("served_trials:ServedAttention"),
    cases=(_case(6, 1, 64, query_len=2, context=300),),
    timed_cases={
        "decode-90k": _case(24, 4, 256, query_len=1, context=90_112),
        "verify-90k": _case(24, 4, 256, query_len=8, context=90_112),
        "drafter-24k": _case(32, 8, 128, query_len=8, context=24_576),
    },
    work=_at("work:attention"),
)

_WRITE = Operation(
    name="served_write",
    work_unit="row of one token and head",
    arms=(Arm("write", launches=("write_cache",), covered_units=_at("write_trials:units")),),
    units=_at("write_trials:units"),
    exposing=None,
    random=_at("write_trials:ServedWrite"),
    cases=({"blocks": 1, "head_size": 64},),
    timed_cases={"prefill-8k": {"blocks": 512, "kv_heads": 4, "head_size": 256}},
    work=_at("work:cache_write"),
)


def _slower(operation: Operation, random: str, defect: str) -> Operation:
    """Give an operation the control that its timing bounds must turn red on."""
    twin = Control("five-percent-more", defect, replace(operation, random=_at(random)), _TURNS_RED)
    return replace(operation, controls=(twin,))


OPERATIONS = (
    _slower(
        _ATTENTION,
        "served_trials:SlowerServedAttention",
        "Every call attends to 5% more keys, those of one more sequence.",
    ),
    _slower(_WRITE, "write_trials:SlowerServedWrite", "Every call writes 5% of the rows twice."),
)
