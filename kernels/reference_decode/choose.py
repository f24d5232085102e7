"""Choose each sequence's next token greedily, and advance it."""

import triton
import triton.language as tl

from guardrail.kernels.programmatic_launch.device import begin

LAST_TOKEN = tl.constexpr(2**31 - 1)


@triton.jit
def _ranked(logits, tokens):
    """Make of each logit and its token one number that is larger where the token is to be chosen.

    The upper half orders as the logits do, with zeros of both signs equal and NaN of either above all else;
    the lower half puts the first of equal ones ahead.

    Args:
        logits: fp32 [tokens].
        tokens: int32 [tokens].

    Returns:
        int64 [tokens].
    """
    bits = tl.where(logits == 0.0, 0.0, logits).to(tl.int32, bitcast=True)
    # Magnitudes of negative floats grow with their bits, so all bits but the sign are turned.
    order = tl.where(logits != logits, LAST_TOKEN, bits ^ ((bits >> 31) & LAST_TOKEN))
    return (order.to(tl.int64) << 32) | (tokens ^ LAST_TOKEN).to(tl.int64)


@triton.jit
def search_logits(logits_ptr, candidates_ptr, vocabulary, parts, PART: tl.constexpr, PDL: tl.constexpr):
    """Find the first of the largest logits of one part; grid (sequences, parts).

    Shapes and units:
        logits_ptr: fp32 [sequences, vocabulary].
        candidates_ptr: int64 [sequences, parts], written: as `_ranked` says.
        parts: Parts of a sequence.
        PART: Logits of one program, a power of two.
        PDL: Whether the kernel is launched programmatically.
    """
    begin(PDL)
    sequence = tl.program_id(0).to(tl.int64)
    part = tl.program_id(1)
    token = part * PART + tl.arange(0, PART)
    logits = tl.load(logits_ptr + sequence * vocabulary + token, mask=token < vocabulary, other=float("-inf"))
    tl.store(candidates_ptr + sequence * parts + part, tl.max(_ranked(logits, token), 0))


@triton.jit
def choose_tokens(
    candidates_ptr,
    tokens_ptr,
    history_ptr,
    steps_ptr,
    positions_ptr,
    parts,
    sequences,
    PARTS_PADDED: tl.constexpr,
    PDL: tl.constexpr,
):
    """Choose one sequence's next token, remember it and advance the sequence; grid (sequences,).

    Shapes and units:
        candidates_ptr: As `search_logits` wrote them.
        tokens_ptr: int64 [sequences], written.
        history_ptr: int64 [steps, sequences]; this step's row is written.
        steps_ptr: Steps before this one, int64 [sequences], incremented.
        positions_ptr: Tokens before this step's, int64 [sequences], incremented.
        parts: Candidates of a sequence.
        PARTS_PADDED: parts, padded to a power of two.
        PDL: Whether the kernel is launched programmatically.
    """
    begin(PDL)
    sequence = tl.program_id(0).to(tl.int64)
    part = tl.arange(0, PARTS_PADDED)
    lowest: tl.constexpr = -(2**63)
    ranked = tl.load(candidates_ptr + sequence * parts + part, mask=part < parts, other=lowest)
    token = (tl.max(ranked, 0) & LAST_TOKEN) ^ LAST_TOKEN
    step = tl.load(steps_ptr + sequence)
    tl.store(tokens_ptr + sequence, token)
    tl.store(history_ptr + step * sequences + sequence, token)
    tl.store(steps_ptr + sequence, step + 1)
    tl.store(positions_ptr + sequence, tl.load(positions_ptr + sequence) + 1)
