"""The dispatch rule over a declared domain: one engine, every batch of equal query lengths."""

from collections.abc import Iterator
from functools import lru_cache

from guardrail.families.interface import Case, Choice
from guardrail.families.models import ModelProfile
from guardrail.families.switches import read_switch
from guardrail.kernels.int4_attention import dispatch, knobs, plan

CAPTURE_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 384, 576)
"""576 is the size that 385 to 512 tokens are padded to: more rows than policy admits tokens."""
CONTEXT = 40
"""Keys of each sequence before its query, where a case names no other number."""

_KV_HEADS = (4, 8)
_LONGEST_QUERY = dispatch.MAX_QUERY_LEN + 1
_SEQUENCES = 64
_BATCHED_TOKENS = 2048
_EXECUTED_QUERY_LENS = frozenset({1, 2, 8, 16, 17})
_HEAD_SIZES = range(64, 257, 8)
_LARGEST_GROUP = 16


def pick(case: Case) -> Choice:
    """Pick the arm of one batch, through the plan and the rule that the launcher uses.

    A missing or too small buffer is an accident, so it is no reason to take the slower arm.
    """
    decision = dispatch.decide(call_of(case))
    return Choice(decision.arm, because=", ".join(decision.deliberate))


def domain() -> Iterator[Case]:
    """Yield batches of 1 to 64 sequences with 1 to 17 query tokens each, for 4 and 8 KV heads."""
    for kv_heads in _KV_HEADS:
        for captured in (False, True):
            for sequences in range(1, _SEQUENCES + 1):
                for query_len in range(1, _LONGEST_QUERY + 1):
                    yield _case(kv_heads, captured, sequences, query_len)


def model_cases(model: ModelProfile) -> Iterator[Case]:
    """Yield decode, verify and prefill batches of a model; none where the kernels refuse its geometry."""
    if not accepts(model.query_heads, model.kv_heads, model.head_size):
        return
    for captured in (False, True):
        for sequences in (1, 2, 4, 8, 32):
            for query_len in (1, 8, 9, 16, 17):
                yield _case(model.kv_heads, captured, sequences, query_len)


def accepts(query_heads: int, kv_heads: int, head_size: int) -> bool:
    """Tell whether the kernels take a geometry."""
    return head_size in _HEAD_SIZES and query_heads <= _LARGEST_GROUP * kv_heads


def executed(case: Case) -> bool:
    """Tell whether the case is small enough for the interpreter."""
    small = int(case["sequences"]) <= 2 and int(case["query_len"]) in _EXECUTED_QUERY_LENS
    return small and int(case["kv_heads"]) == _KV_HEADS[0]


def units(case: Case) -> int:
    """Count the KV tokens that the last query token of a sequence sees."""
    return int(case.get("context", CONTEXT)) + int(case["query_len"])


def covered_2d(case: Case) -> int:
    """Count the KV tokens that the 2D arm computes: all."""
    return units(case)


def covered_3d(case: Case) -> int:
    """Count the KV tokens that the 3D arm computes: all of a batch that policy admits, else 0.

    That the scratch holds it is the plan's to see to: read off the plan, this would excuse too few rows.
    """
    engine = engine_of(case)
    admitted = int(case["query_len"]) <= engine.max_query_len
    return units(case) if admitted and int(case["sequences"]) <= plan.effective_threshold(engine) else 0


def padded_tokens(case: Case) -> int:
    """Count the query rows of the batch, padding of a captured graph included."""
    tokens = int(case["sequences"]) * int(case["query_len"])
    return plan.padded_tokens(tokens, engine_of(case).capture_sizes)


def engine_of(case: Case) -> plan.Engine:
    """Read the engine that a case runs in."""
    return _engine(int(case["kv_heads"]), bool(case["captured"]))


def call_of(case: Case) -> dispatch.Call:
    """Ask what the dispatch rule would be asked for one batch."""
    engine = engine_of(case)
    rows = plan.capacity(engine)
    return dispatch.Call(
        max_query_len=int(case["query_len"]),
        sequences=int(case["sequences"]),
        tokens=padded_tokens(case),
        seq_threshold=plan.effective_threshold(engine),
        segments=plan.SEGMENTS,
        scratch_rows=(rows, rows, rows),
        declared_capacity=rows,
        query_len_cap=engine.max_query_len,
        multi_query=read_switch(knobs.MULTI_QUERY, default=True),
    )


@lru_cache
def _engine(kv_heads: int, captured: bool) -> plan.Engine:
    return plan.Engine(
        max_num_batched_tokens=_BATCHED_TOKENS,
        max_num_seqs=_SEQUENCES,
        seq_threshold=plan.seq_threshold(kv_heads),
        capture_sizes=CAPTURE_SIZES if captured else (),
    )


def _case(kv_heads: int, captured: bool, sequences: int, query_len: int) -> Case:
    return {"kv_heads": kv_heads, "captured": captured, "sequences": sequences, "query_len": query_len}
