"""Replay how an engine's start allocates scratch, and hold every batch that it may admit against that."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from guardrail.families.engine import Allocation, EngineOptions, EngineStart
from guardrail.families.models import ModelProfile
from guardrail.families.switches import read_switch
from guardrail.kernels.int4_attention import dispatch, gate, knobs, plan
from guardrail.kernels.int4_attention.breaches import BreachState
from guardrail.kernels.int4_attention.census import Census
from guardrail.kernels.int4_attention.scratch import ScratchPool, ScratchSet
from guardrail.kernels.int4_attention.scratch_plan import (
    Layout,
    ScratchPlan,
    guardrail_layout,
    layer_of,
    seed_layout,
)

_DEVICE = "device"
_GROUPS = 2
"""KV cache groups of one attention shape, each with a metadata builder of its own: what vLLM 0.27 makes of a
model whose attention layers lie between layers of another kind."""
_SCALE_BYTES = 4

Models = Sequence[ModelProfile]


def start(models: Models, options: EngineOptions) -> EngineStart:
    """Start an engine with guardrail's layout."""
    return Replay(guardrail_layout).start(models, options)


def start_seed(models: Models, options: EngineOptions) -> EngineStart:
    """Start an engine with 16 segments in every batch."""
    return Replay(seed_layout).start(models, options)


@dataclass(frozen=True, slots=True)
class Replay:
    """How an engine treats the pool; the defaults are right."""

    layout: Layout
    loads: bool = True
    """Whether attention layers allocate while the model is loaded."""
    exclusive: bool = False
    """Whether builders refuse to share."""
    layer_geometry: bool = False
    """Whether layers plan by their own geometry, which no builder knows, instead of the served model's."""

    def start(self, models: Models, options: EngineOptions) -> EngineStart:
        """Load the models, build for the profile, tear that down, and build for service.

        Args:
            models: Models that are served together, the target first.
            options: What the engine is started with.
        """
        target = models[0]
        pool = ScratchPool(lambda _plan, _device: None)
        layers = [
            pool.load(self._of_layer(target, model, options), _DEVICE) for model in models if self.loads
        ]
        self._build(pool, models, options)
        builders = self._build(pool, models, options)
        users: list[tuple[ScratchSet[None], ModelProfile]] = [
            *zip(layers, models, strict=False),
            *((held, model) for _, held, model in builders),
        ]
        census = Census(BreachState())
        batches = sum(_hold(held.plan, census) for _, held, _ in builders)
        return EngineStart(
            allocations=tuple(_allocation(made, users) for made in pool.resident()),
            batches=batches,
            eligible_2d=census.record().eligible_2d,
        )

    def _build(
        self, pool: ScratchPool[None], models: Models, options: EngineOptions
    ) -> list[tuple[object, ScratchSet[None], ModelProfile]]:
        built: list[tuple[object, ScratchSet[None], ModelProfile]] = []
        for model in models:
            for _ in range(_GROUPS):
                builder = _Builder()
                planned = plan_of(self.layout, models[0], models[0], model.query_heads, options)
                built.append((builder, pool.adopt(planned, _DEVICE, builder, self.exclusive), model))
        return built

    def _of_layer(self, target: ModelProfile, model: ModelProfile, options: EngineOptions) -> ScratchPlan:
        known = model if self.layer_geometry else target
        return plan_of(self.layout, target, known, model.query_heads, options)


class _Builder:
    """A metadata builder, of which only its life matters."""


def plan_of(
    layout: Layout, target: ModelProfile, known: ModelProfile, query_heads: int, options: EngineOptions
) -> ScratchPlan:
    """Plan the scratch of one attention layer.

    Args:
        layout: How rows are divided.
        target: The served model, which decides how many sequences take the 3D arm.
        known: The model whose KV heads and head size the scratch is planned by.
        query_heads: Query heads of the layer.
        options: What the engine is started with.
    """
    layer = layer_of(query_heads, known.kv_heads, known.head_size, options.processors, options.capability)
    return layout(engine_of(target, options), layer)


def engine_of(target: ModelProfile, options: EngineOptions) -> plan.Engine:
    """Read what a plan depends on from what an engine is started with."""
    return plan.Engine(
        max_num_batched_tokens=options.max_num_batched_tokens,
        max_num_seqs=options.max_num_seqs,
        seq_threshold=plan.seq_threshold(target.kv_heads),
        capture_sizes=options.capture_sizes,
    )


def token_bytes(model: ModelProfile) -> int | None:
    """Size the cache of one token over all layers: packed keys and values, and a scale for each head."""
    layers = model.attention_layers or model.layers
    if layers is None:
        return None
    return layers * model.kv_heads * 2 * (model.head_size // 2 + _SCALE_BYTES)


def notes(models: Models, options: EngineOptions) -> Iterator[str]:
    """Say which models the kernels refuse, and which arm a full verify step takes."""
    for model in models:
        if next(iter(gate.model_cases(model)), None) is None:
            yield (
                f"The int4 kernels refuse {model.name}: they take head sizes of 64 to 256 in steps of 8 and "
                "at most 16 query heads a KV head."
            )
    if options.draft_depth:
        engine = engine_of(models[0], options)
        rows = plan.capacity(engine)
        query_len, sequences = options.draft_depth + 1, options.max_num_seqs
        tokens = min(options.max_num_batched_tokens, sequences * query_len)
        decision = dispatch.decide(_call(engine, sequences, query_len, tokens, rows))
        arm = "split-KV arm" if decision.arm == "3d" else f"2D arm ({', '.join(decision.reasons)})"
        yield (
            f"A verify step of {sequences} sequences with {query_len} query tokens each is {tokens} query "
            f"tokens and takes the {arm}."
        )


def _allocation(made: ScratchSet[None], users: list[tuple[ScratchSet[None], ModelProfile]]) -> Allocation:
    names = dict.fromkeys(model.name for held, model in users if held is made)
    return Allocation(
        models=tuple(names),
        rows=made.plan.rows,
        slots=made.plan.slots,
        slot_bytes=made.plan.slot_bytes,
        origin=made.origin.value,
        profiled=made.profiled,
    )


def _hold(held: ScratchPlan, census: Census) -> int:
    """Ask the dispatch rule about every admissible batch, and count them."""
    engine, batches = held.engine, 0
    for sequences in range(1, min(engine.max_num_seqs, plan.effective_threshold(engine)) + 1):
        for query_len in range(1, engine.max_query_len + 1):
            tokens = min(engine.max_num_batched_tokens, sequences * query_len)
            if tokens >= sequences + query_len - 1:
                call = _call(engine, sequences, query_len, tokens, min(held.rows, held.slots))
                decision = dispatch.decide(call)
                census.observe(call, decision, decision.arm, call.segments)
                batches += 1
    return batches


def _call(engine: plan.Engine, sequences: int, query_len: int, tokens: int, rows: int) -> dispatch.Call:
    return dispatch.Call(
        max_query_len=query_len,
        sequences=sequences,
        tokens=plan.padded_tokens(tokens, engine.capture_sizes),
        seq_threshold=plan.effective_threshold(engine),
        segments=1,
        scratch_rows=(rows, rows, rows),
        declared_capacity=rows,
        query_len_cap=engine.max_query_len,
        multi_query=read_switch(knobs.MULTI_QUERY, default=True),
    )
