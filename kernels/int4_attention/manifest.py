"""What the int4 attention family states about itself."""

from dataclasses import replace

from guardrail.families.interface import Arm, Control, Family, Gate, Kernel, Operation, Plan, Reference
from guardrail.kernels.int4_attention import builds, knobs, pools, timed

_HERE = "guardrail.kernels.int4_attention"
_HOPPER_CAP = 168


def _at(place: str) -> Reference:
    return f"{_HERE}.{place}"


def _kernel(name: str, built: tuple[builds.Build, ...], cap: int, starved_warps: int | None = None) -> Kernel:
    """Give a kernel its controls; one that needs few registers is starved with fewer warps as well."""
    kernel = Kernel(name=name, function=_at(f"{name}:{name}"), builds=built)
    starved = replace(
        kernel,
        builds=tuple(replace(_starved(build, cap), warps=starved_warps or build.warps) for build in built),
    )
    crowded = replace(kernel, builds=tuple(replace(build, warps=32, stages=12) for build in built))
    controls = (
        Control(
            name="starved-of-registers",
            defect="Each thread may use so few registers that values go to memory and back.",
            mutant=starved,
            turns_red=("spill_bytes",),
        ),
        Control(
            name="crowded-block",
            defect="A block has 32 warps and buffers for 12 stages, so that hardly one fits an SM.",
            mutant=crowded,
            turns_red=("blocks_per_sm",),
        ),
    )
    return replace(kernel, controls=controls)


def _starved(build: builds.Build, cap: int) -> builds.Build:
    """Cap the registers, with what Hopper's matrix instructions cannot do without left to them."""
    return replace(build, max_registers=_HOPPER_CAP if build.archs == ("sm_90",) else cap)


_ATTENTION = Operation(
    name="attention",
    work_unit="KV token",
    arms=(
        Arm("3d", launches=("attend_segments", "reduce_segments"), covered_units=_at("gate:covered_3d")),
        Arm("2d", launches=("attend",), covered_units=_at("gate:covered_2d")),
    ),
    units=_at("gate:units"),
    exposing=_at("trials:ExposingAttention"),
    random=_at("trials:RandomAttention"),
    cases=tuple(
        {"kv_heads": 4, "captured": True, **axes}
        for axes in (
            {"query_len": 1, "sequences": 2, "context": 40},
            {"query_len": 8, "sequences": 1, "context": 28},
            {"query_len": 8, "sequences": 1, "context": 28, "mean_score": -100},
            {"query_len": 8, "sequences": 1, "context": 28, "mean_score": -300},
            {"query_len": 16, "sequences": 1, "context": 0},
            {"query_len": 2, "sequences": 1, "context": 97, "head_size": 128},
            {"query_len": 2, "sequences": 1, "context": 31, "head_size": 256},
        )
    ),
)

_ROTATED_ATTENTION = Operation(
    name="rotated_attention",
    work_unit="KV token",
    arms=(
        Arm(
            "3d",
            launches=("rotate_rows", "attend_segments", "reduce_segments"),
            covered_units=_at("gate:covered_3d"),
        ),
        Arm("2d", launches=("rotate_rows", "attend", "rotate_rows"), covered_units=_at("gate:covered_2d")),
    ),
    units=_at("gate:units"),
    exposing=None,
    random=_at("rotated_trials:RotatedAttention"),
    cases=tuple(
        {
            "kv_heads": 4,
            "captured": True,
            "query_len": 2,
            "sequences": 1,
            "context": 97,
            "head_size": head_size,
        }
        for head_size in (64, 80, 96, 128, 256)
    ),
)

_CACHE_WRITE = Operation(
    name="cache_write",
    work_unit="row of one token and head",
    arms=(Arm("write", launches=("write_cache",), covered_units=_at("write_trials:units")),),
    units=_at("write_trials:units"),
    exposing=None,
    random=_at("write_trials:RandomWrite"),
    cases=tuple(
        {"blocks": 1, "head_size": head_size, "rotated": rotated}
        for head_size, rotated in ((64, False), (256, False), (80, True), (256, True))
    ),
)

_DISPATCH = Gate(
    name="dispatch",
    operation=_ATTENTION,
    pick=_at("gate:pick"),
    domain=_at("gate:domain"),
    model_cases=_at("gate:model_cases"),
    executed=_at("gate:executed"),
)

_SCRATCH = Plan(
    name="scratch",
    configurations=_at("plan_cases:configurations"),
    capacity=_at("plan_cases:capacity"),
    demands=_at("plan_cases:demands"),
    row_bytes=_at("plan_cases:row_bytes"),
)


def _attention_mutant(exposing: str = "ExposingAttention", random: str = "RandomAttention") -> Operation:
    """Replace the trials of the attention operation."""
    places = (
        _at(f"trials:{name}" if name in ("ExposingAttention", "RandomAttention") else f"trial_mutants:{name}")
        for name in (exposing, random)
    )
    return replace(_ATTENTION, exposing=next(places), random=next(places))


def _gate_control(name: str, defect: str, pick: str, turns_red: str) -> Control[Gate]:
    return Control(name, defect, replace(_DISPATCH, pick=_at(f"mutants:{pick}")), (turns_red,))


def _executed_control(name: str, defect: str, exposing: str, turns_red: str) -> Control[Gate]:
    mutant = replace(_DISPATCH, operation=_attention_mutant(exposing=exposing))
    return Control(name, defect, mutant, (turns_red,))


def _plan_control(name: str, defect: str, capacity: str) -> Control[Plan]:
    return Control(name, defect, replace(_SCRATCH, capacity=_at(f"mutants:{capacity}")), ("violations",))


FAMILY = Family(
    name="int4_attention",
    title="Attention over a 4-bit key-value cache with one scale for each token and head",
    kernels=(
        _kernel("attend", builds.attend_builds(), cap=32),
        _kernel("attend_segments", builds.segment_builds(), cap=32),
        _kernel("reduce_segments", builds.reduction_builds(), cap=16),
        _kernel("rotate_rows", builds.rotation_builds(), cap=16, starved_warps=1),
        _kernel("write_cache", builds.write_builds(), cap=16),
    ),
    operations=(
        replace(
            _ATTENTION,
            controls=(
                Control(
                    "poisoned-maximum",
                    "A row that sees no key of a visited segment reports a maximum of 0, not minus infinity.",
                    _attention_mutant(random="RandomPoisonedMaximum"),
                    ("relative_error",),
                ),
                Control(
                    "skipped-segment",
                    "The reduction leaves the last segment out.",
                    _attention_mutant(random="RandomSkippedSegment"),
                    ("relative_error",),
                ),
                Control(
                    "forgotten-token",
                    "The 3D arm never reduces the last query token of a sequence.",
                    _attention_mutant(random="RandomForgottenToken"),
                    ("unwritten_outputs",),
                ),
            ),
        ),
        replace(
            _ROTATED_ATTENTION,
            controls=(
                Control(
                    "without-signs",
                    "Queries and outputs are rotated without the signs that the cache was written with.",
                    replace(_ROTATED_ATTENTION, random=_at("trial_mutants:AttentionWithoutSigns")),
                    ("relative_error",),
                ),
            ),
        ),
        replace(
            _CACHE_WRITE,
            controls=(
                Control(
                    "one-level-off",
                    "One element of the whole cache is one level off.",
                    replace(_CACHE_WRITE, random=_at("trial_mutants:WriteOneLevelOff")),
                    ("relative_error",),
                ),
                Control(
                    "without-signs",
                    "Keys and values are rotated without the signs.",
                    replace(_CACHE_WRITE, random=_at("trial_mutants:WriteWithoutSigns")),
                    ("relative_error",),
                ),
                Control(
                    "no-zero-point",
                    "The cache write forgets to hide the zero point in the scale.",
                    replace(_CACHE_WRITE, random=_at("trial_mutants:WriteWithoutZeroPoint")),
                    ("relative_error",),
                ),
            ),
        ),
        *timed.OPERATIONS,
    ),
    gates=(
        replace(
            _DISPATCH,
            controls=(
                _gate_control(
                    "unsaid-flag",
                    "The multi-query flag is off, and batches go to the 2D arm without a word.",
                    "pick_without_saying_why",
                    "unexplained_cases",
                ),
                _gate_control(
                    "rows-in-sequences",
                    "The scratch has a row for each sequence, and is asked for a row for each token.",
                    "pick_with_sequence_rows",
                    "unexplained_cases",
                ),
                _gate_control(
                    "captured-snap",
                    "A captured graph's sizes shrink the scratch to 8 rows.",
                    "pick_with_snapped_rows",
                    "unexplained_cases",
                ),
                _gate_control(
                    "no-threshold",
                    "The 3D arm is taken for more sequences than its scratch was planned for.",
                    "pick_beyond_threshold",
                    "uncovered_units",
                ),
                _gate_control("never-3d", "No batch takes the 3D arm.", "pick_2d_always", "arms_never_taken"),
                _executed_control(
                    "skipped-segment",
                    "The reduction leaves the last segment out.",
                    "ExposingSkippedSegment",
                    "dropped_units",
                ),
                _executed_control(
                    "doubled-segment",
                    "The reduction counts the first segment twice.",
                    "ExposingDoubledSegment",
                    "doubled_units",
                ),
                _executed_control(
                    "forgotten-token",
                    "The 3D arm never reduces the last query token of a sequence.",
                    "ExposingForgottenToken",
                    "unwritten_outputs",
                ),
                _executed_control(
                    "silent-fallback",
                    "The 3D arm runs the 2D kernel and says nothing.",
                    "ExposingSilentFallback",
                    "arms_not_reached",
                ),
            ),
        ),
    ),
    plans=(
        replace(
            _SCRATCH,
            controls=(
                _plan_control(
                    "rows-in-sequences", "A row for each sequence, not each token.", "sequence_rows"
                ),
                _plan_control("rows-snapped", "A row for each sequence, snapped to a size.", "snapped_rows"),
                _plan_control("no-padding", "No row for a captured graph's padding.", "unpadded_rows"),
                Control(
                    "row-without-sums",
                    "A row is sized without its maxima and sums.",
                    replace(_SCRATCH, row_bytes=_at("mutants:row_bytes_without_sums")),
                    ("row_bytes",),
                ),
            ),
        ),
    ),
    pools=pools.POOLS,
    knobs={knobs.MULTI_QUERY: "Lets sequences of several query tokens take the 3D arm (default on)."},
)
