"""Engine configurations to examine the plan on, and the batches each one may meet."""

import random
from collections.abc import Iterator

from guardrail.families.interface import Case
from guardrail.families.models import ModelProfile
from guardrail.kernels.int4_attention import plan

SEED = 20260901
RAGGED_BATCHES = 32

_BATCHED_TOKENS = (8, 16, 64, 128, 2048, 8192, 131072)
_SEQUENCES = (1, 2, 4, 7, 8, 9, 16, 31, 32, 33, 64, 256)
_THRESHOLDS = (1, 2, 4, 8, 16, 32, 64, 128)
_QUERY_LENS = (1, 2, 8, 16, 17, 32)
_CAPTURE_LISTS = ("1,2,4,8", "1,2,4,8,24", "1,2,4,8,16,24,32,40,48,56,64", "1,2,4,8,16,32,64,128,256,512,640")

Batch = tuple[int, ...]


def configurations() -> Iterator[Case]:
    """Yield 4,032 configurations that run eagerly, then 1,536 that run in captured graphs."""
    for batched in _BATCHED_TOKENS:
        for sequences in _SEQUENCES:
            for threshold in _THRESHOLDS:
                for query_len in _QUERY_LENS:
                    yield _case(batched, sequences, threshold, query_len, "")
    for captures in _CAPTURE_LISTS:
        for batched in (64, 2048):
            for sequences in _SEQUENCES:
                for threshold in _THRESHOLDS:
                    for query_len in (8, 16):
                        yield _case(batched, sequences, threshold, query_len, captures)


def engine_of(configuration: Case) -> plan.Engine:
    """Read an engine from a configuration's axes; ``capture_sizes`` is a comma-separated list."""
    sizes = str(configuration["capture_sizes"])
    return plan.Engine(
        max_num_batched_tokens=int(configuration["max_num_batched_tokens"]),
        max_num_seqs=int(configuration["max_num_seqs"]),
        seq_threshold=int(configuration["seq_threshold"]),
        max_query_len=int(configuration["max_query_len"]),
        capture_sizes=tuple(int(size) for size in sizes.split(",")) if sizes else (),
    )


def capacity(configuration: Case) -> int:
    """Count the token rows that the plan allocates."""
    return plan.capacity(engine_of(configuration))


def demands(configuration: Case) -> Iterator[tuple[Batch, int]]:
    """Yield admissible batches, as query tokens of each sequence, with the token rows each one needs.

    Admissible is what the dispatch rule sends to the 3D arm and the scheduler can build: no more sequences
    than the threshold and the engine allow, no longer query than the policy's, no more tokens than a batch's.
    """
    engine = engine_of(configuration)
    sequences = min(engine.max_num_seqs, plan.effective_threshold(engine))
    for batch in (*_corners(engine, sequences), *_ragged(engine, sequences)):
        tokens = sum(batch)
        if tokens <= engine.max_num_batched_tokens:
            yield batch, plan.padded_tokens(tokens, engine.capture_sizes)


def row_bytes(model: ModelProfile) -> int:
    """Size one token row for a model's attention layers, in the scratch that it shares with its target."""
    return plan.row_bytes(model.query_heads, model.scratch_head_size or model.head_size)


def _corners(engine: plan.Engine, sequences: int) -> Iterator[Batch]:
    longest = engine.max_query_len
    yield (longest,) * sequences
    yield (longest,)
    yield (1,) * sequences
    yield (longest,) * (sequences - 1) + (1,)
    yield (longest,) + (1,) * (sequences - 1)


def _ragged(engine: plan.Engine, sequences: int) -> Iterator[Batch]:
    # Seeded by the configuration, so that a batch is the same whatever was examined before it.
    draw = random.Random(f"{SEED}:{engine}")
    lengths = range(1, engine.max_query_len + 1)
    for _ in range(RAGGED_BATCHES):
        batch = draw.choices(lengths, k=draw.randint(1, sequences))
        excess = sum(batch) - engine.max_num_batched_tokens
        while excess > 0:
            excess -= batch.pop()
        if batch:
            yield tuple(batch)


def _case(batched: int, sequences: int, threshold: int, query_len: int, captures: str) -> Case:
    return {
        "max_num_batched_tokens": batched,
        "max_num_seqs": sequences,
        "seq_threshold": threshold,
        "max_query_len": query_len,
        "capture_sizes": captures,
    }
