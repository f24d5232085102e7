"""Dumps that must not be compared, and why."""

from collections.abc import Iterator

from guardrail.logits.difference import differing_elements, nonfinite_elements
from guardrail.logits.dump import Dump


def refusals(one: Dump, other: Dump) -> Iterator[str]:
    """Say why two dumps must not be compared.

    Yields:
        One sentence for each reason, without its full stop; none where they may be.
    """
    if one.logits.shape != other.logits.shape:
        yield (
            f"{one.source} has logits of shape {list(one.logits.shape)}, {other.source} of "
            f"{list(other.logits.shape)}; dump the same model and as many sequences"
        )
    if one.step != other.step:
        yield (
            f"{one.source} is of step {one.step}, {other.source} of step {other.step}; only one and the same "
            "step has the same tokens before it: dump the first step of both"
        )
    elif one.prompts is not None and other.prompts is not None:
        yield from _prompt_refusals(one, other)
    elif one.step:
        yield (
            f"step {one.step} of dumps that do not state their tokens: what differs there may follow from "
            "an earlier token, which is cascade and no evidence; dump the first step of both"
        )


def caveats(one: Dump, other: Dump) -> Iterator[str]:
    """Say what a reader of a comparison must know.

    Yields:
        Sentences without their full stop.
    """
    silent = [dump.source for dump in (one, other) if dump.prompts is None]
    if silent:
        verb = "does" if len(silent) == 1 else "do"
        yield f"{' and '.join(silent)} {verb} not state the prompt; that it is the same is taken on trust"
    if one.step:
        yield f"step {one.step} of the same tokens: each side filled the cache that it reads"
    names = sorted(one.tensors.keys() ^ other.tensors.keys())
    if names:
        yield f"only one of the two has {', '.join(names)}"


def pair_refusals(pair: tuple[Dump, Dump], compared: tuple[Dump, Dump]) -> Iterator[str]:
    """Say why a reference pair cannot tell what rounding amounts to in a comparison.

    Args:
        pair: Dumps of two engines that are both known to be right.
        compared: The dumps in question, which may be compared with each other.

    Yields:
        One sentence for each reason, without its full stop.
    """
    names = f"reference pair {pair[0].source} and {pair[1].source}"
    reasons = [*refusals(*pair), *refusals(compared[0], pair[0])]
    yield from (f"{names}: {reason}" for reason in reasons)
    for dump in pair:
        if count := nonfinite_elements(dump.logits):
            yield f"{names}: {dump.source} has {count} logits that are NaN or infinite"
    if not reasons and _same_logits(pair, compared):
        yield f"{names}: these are the compared logits themselves, and a pair cannot vouch for itself"


def _prompt_refusals(one: Dump, other: Dump) -> Iterator[str]:
    for number, (ours, theirs) in enumerate(zip(one.prompts or (), other.prompts or (), strict=False)):
        if ours == theirs:
            continue
        position = next(
            (at for at, pair in enumerate(zip(ours, theirs, strict=False)) if pair[0] != pair[1]), None
        )
        if position is None:
            how = f"{one.source} has {len(ours)} tokens and {other.source} {len(theirs)}"
        else:
            how = (
                f"token {position} is {ours[position]} in {one.source}, {theirs[position]} in {other.source}"
            )
        yield f"sequence {number} has other tokens before its logits: {how}; dump both from the same prompt"
        return
    if len(one.prompts or ()) != len(other.prompts or ()):
        yield f"{one.source} and {other.source} have unlike numbers of prompts; dump the same prompts"


def _same_logits(pair: tuple[Dump, Dump], compared: tuple[Dump, Dump]) -> bool:
    """Tell whether a pair holds the bytes of the compared dumps, in either order, and they differ."""
    if not differing_elements(compared[0].logits, compared[1].logits):
        return False
    return any(
        not differing_elements(first.logits, compared[0].logits)
        and not differing_elements(second.logits, compared[1].logits)
        for first, second in (pair, pair[::-1])
    )
