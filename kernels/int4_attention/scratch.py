"""A pool of scratch: one set for all attention layers and metadata builders of a geometry.

An engine fixes its KV budget after the model is loaded and before it constructs the metadata builders. So the
attention layers allocate while the model is loaded, where the memory profile sees it, and the builders adopt.
Sharing is safe where calls follow one another on one stream: each call writes its scratch and reduces it.
"""

import logging
import weakref
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Generic, TypeVar

from guardrail.kernels.int4_attention.scratch_plan import Geometry, ScratchPlan

_LOG = logging.getLogger(__name__)
_MIB = 2**20

BuffersT = TypeVar("BuffersT")


class Origin(StrEnum):
    """The step of an engine's start that allocated a set."""

    MODEL_LOAD = "model load"
    METADATA_BUILDER = "metadata builder"


@dataclass(eq=False)
class ScratchSet(Generic[BuffersT]):
    """One allocated set of scratch."""

    plan: ScratchPlan
    device: Hashable
    origin: Origin
    buffers: BuffersT
    # Engines construct builders twice, once for the profile: those that are gone use nothing.
    _adopters: "weakref.WeakSet[object]" = field(default_factory=weakref.WeakSet)

    @property
    def adopters(self) -> int:
        """Count the metadata builders that are alive and use the set."""
        return len(self._adopters)

    @property
    def profiled(self) -> bool:
        """Tell whether the memory profile knows of the set."""
        return self.origin is Origin.MODEL_LOAD

    def adopt(self, builder: object) -> None:
        """Take note of a builder that uses the set."""
        self._adopters.add(builder)

    def serves(self, plan: ScratchPlan, exclusive: bool) -> bool:
        """Tell whether the set holds what was planned, and is free where it may not be shared."""
        return self.plan.holds(plan) and not (exclusive and self.adopters)


class ScratchPool(Generic[BuffersT]):
    """Hands out sets of scratch; use it from the one thread that starts the engine.

    Args:
        allocate: Makes the buffers of a planned set on a device.
    """

    def __init__(self, allocate: Callable[[ScratchPlan, Hashable], BuffersT]) -> None:
        self._allocate = allocate
        self._pooled: dict[tuple[Hashable, Geometry], ScratchSet[BuffersT]] = {}
        # Weak: a set that was replaced lives as long as somebody uses it.
        self._made: list[weakref.ref[ScratchSet[BuffersT]]] = []

    def load(self, plan: ScratchPlan, device: Hashable) -> ScratchSet[BuffersT]:
        """Give an attention layer its set while the model is loaded; the first of a geometry allocates it."""
        pooled = self._pooled.get((device, plan.geometry))
        if pooled is not None and pooled.serves(plan, exclusive=False):
            return pooled
        return self._make(plan, device, Origin.MODEL_LOAD)

    def adopt(
        self, plan: ScratchPlan, device: Hashable, builder: object, exclusive: bool = False
    ) -> ScratchSet[BuffersT]:
        """Give a metadata builder the set that the layers allocated, or one as large as it needs.

        A set allocated here is unknown to the memory profile, and a warning says so. A larger one replaces
        the pooled one, which lives on as long as it is used.

        Args:
            plan: What the builder derived; capture sizes may have changed since the model was loaded.
            device: Where.
            builder: The builder; the set counts it as long as it lives.
            exclusive: Whether the builder's calls may overlap another builder's (ubatching), so that it
                adopts only a set that no other builder uses.
        """
        pooled = self._pooled.get((device, plan.geometry))
        if pooled is None or not pooled.serves(plan, exclusive):
            found = self._make(plan, device, Origin.METADATA_BUILDER)
        else:
            found = pooled
            _LOG.info(
                "int4 split-KV scratch: a metadata builder adopts the set of %d query tokens that was "
                "allocated at %s; it derived %d",
                found.plan.rows,
                found.origin,
                plan.rows,
            )
        found.adopt(builder)
        return found

    def resident(self) -> list[ScratchSet[BuffersT]]:
        """List the sets that are in memory, in the order in which they were allocated."""
        return [made for reference in self._made if (made := reference()) is not None]

    def reset(self) -> None:
        """Forget every set, for the next engine of this process; those still in use live on."""
        self._pooled.clear()

    def _make(self, plan: ScratchPlan, device: Hashable, origin: Origin) -> ScratchSet[BuffersT]:
        made = ScratchSet(plan, device, origin, self._allocate(plan, device))
        key = (device, plan.geometry)
        pooled = self._pooled.get(key)
        if pooled is None or not pooled.plan.holds(plan):
            self._pooled[key] = made
        self._made = [weakref.ref(known) for known in (*self.resident(), made)]
        _report(made)
        return made


def _report(made: ScratchSet[BuffersT]) -> None:
    plan, engine = made.plan, made.plan.engine
    _LOG.log(
        logging.INFO if made.profiled else logging.WARNING,
        "int4 split-KV scratch: %d query tokens for %d query heads, %d slots of %d B, %.2f MiB, allocated at "
        "%s, %s. Sized for at most %d batched tokens and %d sequences of %d query tokens (threshold %d).",
        plan.rows,
        plan.geometry.query_heads,
        plan.slots,
        plan.slot_bytes,
        plan.bytes / _MIB,
        made.origin,
        "inside the memory profile"
        if made.profiled
        else f"after the memory profile: the KV budget does not know of these {plan.bytes} bytes",
        engine.max_num_batched_tokens,
        engine.max_num_seqs,
        engine.max_query_len,
        engine.seq_threshold,
    )
