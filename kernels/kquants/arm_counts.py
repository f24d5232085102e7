"""A running engine's count of which arm served which tensor, and why not a faster one."""

from collections import Counter
from dataclasses import dataclass, field

from guardrail.families.interface import Choice


@dataclass(frozen=True, slots=True)
class Served:
    """Products that were alike."""

    tensor: str
    arm: str
    because: str
    """Why it was not a faster arm; empty where none is."""
    intended: bool
    """False where a faster arm was taken away by what the weights lack, not by their shape or a rule."""
    calls: int


@dataclass(slots=True)
class ArmCounts:
    """Counts products on the host: the replays of a captured graph are counted once, at capture."""

    _calls: Counter[tuple[str, str, str, bool]] = field(default_factory=Counter)

    def count(self, tensor: str, choice: Choice, *, intended: bool = True) -> None:
        """Take note of one product.

        Args:
            tensor: Name of the matrix.
            choice: The arm that served it, and why.
            intended: Whether that is the arm the engine asked for.
        """
        self._calls[tensor, choice.arm, choice.because, intended] += 1

    @property
    def served(self) -> tuple[Served, ...]:
        """List all products, alike ones together, in the order in which they first came."""
        return tuple(Served(*key, calls=calls) for key, calls in self._calls.items())

    @property
    def accidental(self) -> tuple[Served, ...]:
        """List the products that took a slower arm than the engine asked for."""
        return tuple(row for row in self.served if not row.intended)
