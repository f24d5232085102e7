"""Executable cache writes."""

from collections.abc import Sequence

import torch

from guardrail.families.interface import Case
from guardrail.kernels.int4_attention import launch, reference, rotation
from guardrail.kernels.int4_attention.cache_layout import cache_views, make_cache

KV_HEADS = 2
BLOCK_SIZE = 16
SKIPPED = 3
"""Tokens without a slot, beside those that fill the cache."""
_FARTHEST_FROM_LEVEL = 0.2
"""Steps between an element and the level that it is drawn for, and as many for the zero point."""


def units(case: Case) -> int:
    """Count the rows of keys and values: one for each slot and head."""
    return int(case["blocks"]) * BLOCK_SIZE * _kv_heads(case)


class CacheWrite:
    """Fill every slot of a cache in random order; some rows do not span zero, some are constant.

    A GPU's writer and torch round differently, so that their bytes may differ where an element lies half
    way between two levels. Rows are drawn away from there, and compared as the numbers that their bytes
    stand for.

    Args:
        case: Axes ``blocks`` and ``head_size``, ``kv_heads`` where they are not 2, and ``rotated`` where the
            kernel is to rotate the rows.
        seed: Seed of the inputs.
        device: Where to compute.
    """

    def __init__(self, case: Case, seed: int, device: str) -> None:
        blocks, head_size, kv_heads = int(case["blocks"]), int(case["head_size"]), _kv_heads(case)
        generator = torch.Generator().manual_seed(seed)
        slots = torch.randperm(blocks * BLOCK_SIZE, generator=generator)
        shape = (slots.numel() + SKIPPED, kv_heads, head_size)
        key, value = (_rows_between_ties(shape, generator) for _ in "kv")
        key[0], value[1] = 0.0, 2.5
        if case.get("rotated", False):
            self.signs = rotation.signs(head_size, device)
            self.key, self.value = (rotation.rotate_back(rows).float().to(device) for rows in (key, value))
        else:
            self.signs = None
            self.key, self.value = key.half().to(device), value.half().to(device)
        self.slots = torch.cat([torch.full([SKIPPED], -1), slots]).roll(shape[0] // 2).to(device)
        self.cache = make_cache(blocks, kv_heads, BLOCK_SIZE, head_size, device)
        self.scratch: Sequence[torch.Tensor] = (self.cache,)

    def write(self) -> None:
        """Run the kernel."""
        launch.run_write(self.key, self.value, self.slots, cache_views(self.cache), self.signs)

    def read_back(self) -> torch.Tensor:
        """Dequantize all keys and values.

        Returns:
            float64 [2, blocks, KV heads, block size, head size].
        """
        views = cache_views(self.cache)
        keys = reference.dequantize(views.key_bytes, views.key_scales)
        return torch.stack([keys, reference.dequantize(views.value_bytes, views.value_scales)])

    def reference(self) -> Sequence[torch.Tensor]:
        """Quantize the same rows and read them back, in float64."""
        kept = self.slots >= 0
        block, offset = self.slots[kept] // BLOCK_SIZE, self.slots[kept] % BLOCK_SIZE
        shape = (2, *self.cache.shape[:3], self.key.shape[2])
        expected = torch.full(shape, torch.nan, dtype=torch.float64, device=self.cache.device)
        for index, rows in enumerate((self.key[kept], self.value[kept])):
            rotated = rows if self.signs is None else rotation.rotate(rows)
            expected[index, block, :, offset] = reference.round_trip(rotated)
        return (expected,)


class RandomWrite(CacheWrite):
    """A cache write whose output is what the cache reads back as, read by the call itself."""

    def __init__(self, case: Case, seed: int, device: str) -> None:
        super().__init__(case, seed, device)
        shape = (2, *self.cache.shape[:3], int(case["head_size"]))
        self.outputs: Sequence[torch.Tensor] = (torch.empty(shape, dtype=torch.float64, device=device),)

    def launch(self, arm: str) -> None:
        """Run the only arm, and read the rows back."""
        _require_write(arm)
        self.write()
        self.outputs[0].copy_(self.read_back())


class ServedWrite(CacheWrite):
    """A cache write that launches the kernel alone, and is read back when it is looked at."""

    @property
    def outputs(self) -> Sequence[torch.Tensor]:
        """Read the cache back."""
        return (self.read_back(),)

    def launch(self, arm: str) -> None:
        """Run the only arm."""
        _require_write(arm)
        self.write()


class SlowerServedWrite(ServedWrite):
    """The twin that does 5% more work: it writes the first rows twice."""

    def __init__(self, case: Case, seed: int, device: str) -> None:
        super().__init__(case, seed, device)
        again = round(0.05 * self.slots.numel())
        self.key, self.value, self.slots = (
            torch.cat([rows, rows[:again]]) for rows in (self.key, self.value, self.slots)
        )


def _require_write(arm: str) -> None:
    if arm != "write":
        raise ValueError(f"arm {arm!r}: expected write")


def _kv_heads(case: Case) -> int:
    return int(case.get("kv_heads", KV_HEADS))


def _rows_between_ties(shape: tuple[int, int, int], generator: torch.Generator) -> torch.Tensor:
    """Draw rows of levels from 0 to 15 around zero points from -4 to 19, and move all a little."""

    def moved(*shape: int) -> torch.Tensor:
        return (torch.rand(shape, generator=generator, dtype=torch.float64) * 2 - 1) * _FARTHEST_FROM_LEVEL

    zero_point = torch.randint(-4, 20, (*shape[:2], 1), generator=generator) + moved(*shape[:2], 1)
    levels = torch.randint(0, 16, shape, generator=generator)
    levels[..., 0], levels[..., -1] = 0, 15
    scale = torch.rand((*shape[:2], 1), generator=generator, dtype=torch.float64) * 0.1 + 0.05
    return ((levels + moved(*shape)).clamp(0, 15) - zero_point) * scale
