"""The rule that picks an attention arm for one batch."""

from dataclasses import dataclass

MAX_QUERY_LEN = 16
"""Query tokens of a sequence that the 3D arm takes at most, where the engine declares no other number."""

NO_SEQ_THRESHOLD = "no_seq_threshold"
NO_SEGMENTS = "no_segments"
SCRATCH_ABSENT = "scratch_absent"
FLAG_OFF = "mq_but_flag_off"
QUERY_LEN_POLICY = "max_query_len_policy"
BUFFERS_DISAGREE = "buffers_disagree_with_declared_capacity"
CAPACITY_FAILED = "q_token_capacity_failed"
TOO_MANY_SEQUENCES = "num_seqs_threshold_failed"
BATCH_INVARIANT = "batch_invariant_guard"

_ACCIDENTS = frozenset({SCRATCH_ABSENT, BUFFERS_DISAGREE, CAPACITY_FAILED})


@dataclass(frozen=True, slots=True)
class Call:
    """Everything the rule looks at for one attention call."""

    max_query_len: int
    """Query tokens of the longest sequence."""
    sequences: int
    tokens: int
    """Rows of the query tensor, padding of a captured graph included."""
    seq_threshold: int | None
    """Sequences that the 3D arm takes at most."""
    segments: int | None
    scratch_rows: tuple[int, int, int] | None
    """Token rows of the partial results, the maxima and the sums; None where a buffer is missing."""
    declared_capacity: int | None = None
    """Token rows that the plan promised."""
    query_len_cap: int = MAX_QUERY_LEN
    multi_query: bool = True
    """Whether sequences of several query tokens may take the 3D arm."""
    batch_invariant: bool = False
    """Whether results must not depend on the batch, which rules the 3D arm out."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The arm of one call, and why it is not the fast one."""

    arm: str
    reasons: tuple[str, ...] = ()

    @property
    def deliberate(self) -> tuple[str, ...]:
        """Name the reasons that someone chose, as against buffers that are missing or too small."""
        return tuple(reason for reason in self.reasons if reason not in _ACCIDENTS)


def decide(call: Call) -> Decision:
    """Pick the split-KV arm ("3d") unless something stands against it.

    Policy is asked before capacity: a sequence with too many query tokens never gets to the capacity.
    A batch of single-token sequences relies on the sequence threshold alone.
    """
    reasons: list[str] = []
    if call.seq_threshold is None:
        reasons.append(NO_SEQ_THRESHOLD)
    if call.segments is None:
        reasons.append(NO_SEGMENTS)
    if call.scratch_rows is None:
        reasons.append(SCRATCH_ABSENT)
    if call.max_query_len > 1:
        reasons += _against_multi_query(call)
    if call.seq_threshold is not None and call.sequences > call.seq_threshold:
        reasons.append(TOO_MANY_SEQUENCES)
    if call.batch_invariant:
        reasons.append(BATCH_INVARIANT)
    return Decision("2d", tuple(reasons)) if reasons else Decision("3d")


def is_breach(call: Call) -> bool:
    """Tell whether policy admits the call's query lengths and the scratch cannot hold them."""
    admitted = call.multi_query and 1 < call.max_query_len <= call.query_len_cap
    return admitted and (call.scratch_rows is None or bool(_against_capacity(call)))


def _against_multi_query(call: Call) -> list[str]:
    policy = []
    if not call.multi_query:
        policy.append(FLAG_OFF)
    if call.max_query_len > call.query_len_cap:
        policy.append(f"{QUERY_LEN_POLICY}>{call.query_len_cap}")
    return policy or _against_capacity(call)


def _against_capacity(call: Call) -> list[str]:
    if call.scratch_rows is None:
        return []
    reasons = []
    if call.declared_capacity is not None and set(call.scratch_rows) != {call.declared_capacity}:
        reasons.append(BUFFERS_DISAGREE)
    if call.tokens > min(call.scratch_rows):
        reasons.append(CAPACITY_FAILED)
    return reasons
