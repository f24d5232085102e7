"""Size the 3D arm's scratch from an engine's configuration, in query tokens."""

from dataclasses import dataclass

from guardrail.kernels.int4_attention import tuning
from guardrail.kernels.int4_attention.dispatch import MAX_QUERY_LEN

SEGMENTS = 16
_PROGRAMS = 128
"""Programs that fill the device without splitting the keys: sequences x KV heads."""
_FLOAT_BYTES = 4
_LARGEST_SCRATCH = 16 * 512
"""Segments times token rows of the seed's layout at its sequence threshold: 451.50 MiB for the 24 heads of a
model and the 32 of its drafter, both sized by a head of 256."""


@dataclass(frozen=True, slots=True)
class Engine:
    """What the scratch depends on."""

    max_num_batched_tokens: int
    max_num_seqs: int
    seq_threshold: int
    """Sequences that the 3D arm takes at most, before captured graphs move the number."""
    max_query_len: int = MAX_QUERY_LEN
    capture_sizes: tuple[int, ...] = ()
    """Token counts that attention is captured at; empty where it runs eagerly."""


def seq_threshold(kv_heads: int) -> int:
    """Count the sequences beyond which splitting the keys gains nothing: 128 // kv_heads."""
    return _PROGRAMS // kv_heads


def effective_threshold(engine: Engine) -> int:
    """Snap the threshold to the nearest capture size; of two equally near, to the one listed first."""
    if not engine.capture_sizes:
        return engine.seq_threshold
    return min(engine.capture_sizes, key=lambda size: abs(size - engine.seq_threshold))


def padded_tokens(tokens: int, capture_sizes: tuple[int, ...]) -> int:
    """Count the query rows of a batch: the smallest capture size that holds it, where one does."""
    return min((size for size in capture_sizes if size >= tokens), default=tokens)


def admitted_tokens(engine: Engine) -> int:
    """Count the query tokens of the largest batch that policy admits."""
    sequences = min(engine.max_num_seqs, effective_threshold(engine))
    return min(engine.max_num_batched_tokens, sequences * engine.max_query_len)


def capacity(engine: Engine) -> int:
    """Size the scratch for every admissible batch, padded as a captured graph pads it.

    Returns:
        Token rows.
    """
    return padded_tokens(admitted_tokens(engine), engine.capture_sizes)


@dataclass(frozen=True, slots=True)
class Layer:
    """What the split of an attention layer depends on."""

    kv_heads: int
    query_heads: int
    head_size: int
    processors: int
    """Multiprocessors of the device."""
    capability: tuple[int, int]
    """Compute capability of the device."""


def segments(layer: Layer, sequences: int, max_query_len: int, rows: int, longest: int) -> int:
    """Choose how many segments the keys of a batch's sequences are divided into.

    As many as fill the device once with programs: a second wave would wait for the first, and every segment
    writes one more partial result.

    Args:
        layer: The attention layer.
        sequences: Sequences of the batch.
        max_query_len: Query tokens of the longest sequence.
        rows: Query tokens of the batch, padding included.
        longest: Keys of the longest sequence; in a captured graph, that which it may be replayed with.

    Returns:
        At least 1; falls as sequences or query tokens grow. Rows times segments never exceed what the seed's
        layout holds for its largest batch.
    """
    query_rows = max_query_len * (layer.query_heads // layer.kv_heads)
    shape = tuning.shape_of(layer.capability, query_rows, layer.head_size)
    unsplit = sequences * layer.kv_heads * -(-query_rows // shape.rows)
    filling = layer.processors * tuning.PROGRAMS_PER_PROCESSOR // unsplit
    worthwhile = longest // (shape.tile * tuning.SMALLEST_SEGMENT)
    return max(1, min(filling, worthwhile, _LARGEST_SCRATCH // rows))


def scratch_slots(engine: Engine, layer: Layer, longest: int) -> int:
    """Size the scratch for every admissible batch: the largest product of query tokens and segments.

    Args:
        engine: Engine configuration.
        layer: The attention layer.
        longest: Keys of the longest sequence that the engine admits.

    Returns:
        Slots, of `slot_bytes` each.
    """
    most = min(engine.max_num_seqs, effective_threshold(engine))
    slots = 1
    for sequences in range(1, most + 1):
        for query_len in range(1, engine.max_query_len + 1):
            # One long sequence decides the segments; the others may have any length up to its own.
            tokens = min(engine.max_num_batched_tokens, sequences * query_len)
            rows = padded_tokens(tokens, engine.capture_sizes)
            slots = max(slots, rows * segments(layer, sequences, query_len, rows, longest))
    return slots


def slot_bytes(query_heads: int, model_head_size: int) -> int:
    """Size one segment of one token row, as in `row_bytes`."""
    return row_bytes(query_heads, model_head_size, segments=1)


def row_bytes(query_heads: int, model_head_size: int, segments: int = SEGMENTS) -> int:
    """Size one token row: partial results of the padded head size, one maximum and one sum, all fp32.

    Args:
        query_heads: Query heads of the attention layer.
        model_head_size: Head size of the served model, which a drafter shares the scratch with.
        segments: Segments that a sequence is divided into.

    Returns:
        Bytes: 4 * (heads * segments * padded head size + 2 * heads * segments).
    """
    return _FLOAT_BYTES * query_heads * segments * (tuning.padded(model_head_size) + 2)
