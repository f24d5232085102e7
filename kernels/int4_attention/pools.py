"""What the family states about its pool of scratch, in guardrail's layout and in the seed's."""

from dataclasses import replace

from guardrail.families.interface import Control, Pool

_HERE = "guardrail.kernels.int4_attention"

_POOL = Pool(
    name="pool",
    layout="guardrail",
    start=f"{_HERE}.engine_start:start",
    token_bytes=f"{_HERE}.engine_start:token_bytes",
    notes=f"{_HERE}.engine_start:notes",
)

_SEED_POOL = replace(_POOL, name="seed_pool", layout="seed", start=f"{_HERE}.engine_start:start_seed")


def _mutant(pool: Pool, start: str) -> Pool:
    return replace(pool, start=f"{_HERE}.engine_mutants:{start}")


def _controls(pool: Pool, starts: str, sized: bool) -> tuple[Control[Pool], ...]:
    """State the defects that either layout may have.

    Args:
        pool: The pool.
        starts: Prefix of the mutants of its start.
        sized: Whether the pool is guarded by its exact size, which then shows each of them.
    """
    size = ("pool_bytes",) if sized else ()
    return (
        Control(
            "layers-geometry",
            "Sets are keyed by the drafter's own heads and head size, which its builder does not know.",
            _mutant(pool, f"{starts}_with_layer_geometry"),
            (*size, "unprofiled_bytes", "sets"),
        ),
        Control(
            "separate-sets",
            "Nothing is allocated at model load, and each metadata builder has a set of its own.",
            _mutant(pool, f"{starts}_with_separate_sets"),
            (*size, "unprofiled_bytes", "sets"),
        ),
        Control(
            "rows-in-sequences",
            "A row for each sequence, not each token.",
            _mutant(pool, f"{starts}_with_sequence_rows"),
            (*size, "eligible_2d"),
        ),
    )


POOLS = (
    replace(
        _POOL,
        controls=(
            *_controls(_POOL, "start", sized=False),
            Control(
                "segments-never-fall",
                "Every row has as many segments as a lone token's sequence.",
                _mutant(_POOL, "start_with_most_segments"),
                ("pool_bytes",),
            ),
        ),
    ),
    replace(_SEED_POOL, controls=_controls(_SEED_POOL, "start_seed", sized=True)),
)
