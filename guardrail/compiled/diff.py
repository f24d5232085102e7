"""What changed between two readings of the same kernels."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from guardrail.compiled.resources import KernelResources

_Key: TypeAlias = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Change:
    """One kernel before and after."""

    old: KernelResources
    new: KernelResources

    @property
    def is_worse(self) -> bool:
        """Tell whether it gained registers, stack or spills, or lost a block per SM."""
        return any(after > before for before, after in self._costs())

    @property
    def is_better(self) -> bool:
        """Tell whether it lost some of these and gained none."""
        return not self.is_worse and any(after < before for before, after in self._costs())

    def _costs(self) -> list[tuple[int, int]]:
        """Pair what is known on both sides, each as a number that is worse when it is larger."""
        old, new = self.old, self.new
        costs = [(old.registers, new.registers), (old.stack_bytes, new.stack_bytes)]
        if old.spill_bytes is not None and new.spill_bytes is not None:
            costs.append((old.spill_bytes, new.spill_bytes))
        if old.blocks_per_sm is not None and new.blocks_per_sm is not None:
            costs.append((-old.blocks_per_sm, -new.blocks_per_sm))
        return costs


@dataclass(frozen=True, slots=True)
class Comparison:
    """Every kernel of two readings, once."""

    worse: Sequence[Change]
    better: Sequence[Change]
    unchanged: int
    added: Sequence[KernelResources]
    removed: Sequence[KernelResources]

    @property
    def paired(self) -> int:
        """Count the kernels that are in both readings."""
        return len(self.worse) + len(self.better) + self.unchanged


def compare(old: Iterable[KernelResources], new: Iterable[KernelResources]) -> Comparison:
    """Pair kernels by name and architecture, and sort the pairs into worse, better and unchanged.

    Names repeat within one binary, so each name stands for a multiset: equal records are paired first, what
    is left is paired in order of cost, and a surplus on one side is added or removed.
    """
    before, after = _by_key(old), _by_key(new)
    changes: list[Change] = []
    added: list[KernelResources] = []
    removed: list[KernelResources] = []
    unchanged = 0
    for key in before.keys() | after.keys():
        only_old, only_new = _without_equals(before.get(key, []), after.get(key, []))
        unchanged += len(after.get(key, [])) - len(only_new)
        pairs = min(len(only_old), len(only_new))
        changes += map(Change, only_old[:pairs], only_new[:pairs])
        removed += only_old[pairs:]
        added += only_new[pairs:]
    changes.sort(key=_gain, reverse=True)
    worse = [change for change in changes if change.is_worse]
    better = [change for change in changes if change.is_better]
    unchanged += len(changes) - len(worse) - len(better)
    return Comparison(worse, better, unchanged, sorted(added, key=_key), sorted(removed, key=_key))


def _key(kernel: KernelResources) -> _Key:
    return kernel.name, kernel.arch


def _by_key(kernels: Iterable[KernelResources]) -> dict[_Key, list[KernelResources]]:
    groups: dict[_Key, list[KernelResources]] = defaultdict(list)
    for kernel in kernels:
        groups[_key(kernel)].append(kernel)
    return groups


def _costs(kernel: KernelResources) -> tuple[int, int, int, int]:
    return kernel.spill_bytes or 0, kernel.stack_bytes, kernel.registers, kernel.shared_bytes


def _without_equals(
    old: Sequence[KernelResources], new: Sequence[KernelResources]
) -> tuple[list[KernelResources], list[KernelResources]]:
    left_old = sorted(old, key=_costs)
    left_new: list[KernelResources] = []
    for kernel in sorted(new, key=_costs):
        equal = next((other for other in left_old if _costs(other) == _costs(kernel)), None)
        if equal is None:
            left_new.append(kernel)
        else:
            left_old.remove(equal)
    return left_old, left_new


def _gain(change: Change) -> tuple[int, int, int, int, str, str]:
    old, new = change.old, change.new
    return (
        (new.spill_bytes or 0) - (old.spill_bytes or 0),
        new.stack_bytes - old.stack_bytes,
        (old.blocks_per_sm or 0) - (new.blocks_per_sm or 0),
        new.registers - old.registers,
        new.name,
        new.arch,
    )
