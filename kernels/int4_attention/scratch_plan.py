"""How large one set of scratch is, and which sets can stand in for one another."""

from collections.abc import Callable
from dataclasses import dataclass

from guardrail.kernels.int4_attention import plan, tuning

_ANY_LENGTH = 2**31 - 1
"""Keys of a sequence: as many as there may ever be, so that a plan holds for every context limit."""


@dataclass(frozen=True, slots=True)
class Geometry:
    """What sets have in common that can stand in for one another."""

    query_heads: int
    """Query heads of the attention layer: the only thing here that is the layer's, not the served model's."""
    head_size: int
    """Head size of the served model, padded to a power of two."""
    segments: int
    """Segments of a lone token's sequence: no batch has more."""


@dataclass(frozen=True, slots=True)
class ScratchPlan:
    """One set of scratch, before it is allocated."""

    engine: plan.Engine
    geometry: Geometry
    rows: int
    """Query tokens that it holds."""
    slots: int
    """Rows times segments of the batch that needs most."""

    @property
    def slot_bytes(self) -> int:
        """Size one segment of one row."""
        return plan.slot_bytes(self.geometry.query_heads, self.geometry.head_size)

    @property
    def bytes(self) -> int:
        """Size the set."""
        return self.slots * self.slot_bytes

    def holds(self, other: "ScratchPlan") -> bool:
        """Tell whether a set of this plan can stand in for one of another."""
        fits = other.rows <= self.rows and other.slots <= self.slots
        return fits and other.geometry == self.geometry

    def most_segments(self, rows: int) -> int:
        """Bound the segments of a batch, whatever layer it is for.

        Args:
            rows: Query tokens of the batch, padding included.
        """
        return self.slots // rows


Layout = Callable[[plan.Engine, plan.Layer], ScratchPlan]
"""Plans the scratch of an attention layer. The layer has its own query heads; all else is the served model's,
because a metadata builder knows no other numbers."""


def layer_of(
    query_heads: int, model_kv_heads: int, model_head_size: int, processors: int, capability: tuple[int, int]
) -> plan.Layer:
    """Describe a layer as scratch is planned for it: its own query heads, otherwise the served model's.

    Args:
        query_heads: Query heads of the layer.
        model_kv_heads: KV heads of the served model.
        model_head_size: Head size of the served model.
        processors: Multiprocessors of the device.
        capability: Compute capability of the device.
    """
    return plan.Layer(model_kv_heads, query_heads, model_head_size, processors, capability)


def guardrail_layout(engine: plan.Engine, layer: plan.Layer) -> ScratchPlan:
    """Plan the scratch for segments that fill the device, and fall as a batch grows."""
    # A drafter may have fewer query heads than its target has KV heads; a program takes one head at least.
    split = plan.Layer(
        layer.kv_heads,
        max(layer.query_heads, layer.kv_heads),
        layer.head_size,
        layer.processors,
        layer.capability,
    )
    most = plan.segments(split, sequences=1, max_query_len=1, rows=1, longest=_ANY_LENGTH)
    return ScratchPlan(
        engine=engine,
        geometry=Geometry(layer.query_heads, tuning.padded(layer.head_size), most),
        rows=plan.capacity(engine),
        slots=plan.scratch_slots(engine, split, _ANY_LENGTH),
    )


def seed_layout(engine: plan.Engine, layer: plan.Layer) -> ScratchPlan:
    """Plan the scratch for 16 segments of every sequence, on any device and in any batch."""
    rows = plan.capacity(engine)
    geometry = Geometry(layer.query_heads, tuning.padded(layer.head_size), plan.SEGMENTS)
    return ScratchPlan(engine, geometry, rows, rows * plan.SEGMENTS)
