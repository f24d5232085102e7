"""An option that takes two values each time it is given, which typer has no type for."""

from collections.abc import Iterator, Sequence
from typing import Any

from typer.core import TyperCommand

from guardrail.errors import UsageError

PAIRED = "--class-from"


class PairedOptions(TyperCommand):
    """Reads ``--class-from A B`` as ``--class-from A --class-from B``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse arguments in which every pair has become two options."""
        return super().parse_args(ctx, list(_split(args)))


def _split(words: Sequence[str]) -> Iterator[str]:
    rest = iter(words)
    for word in rest:
        if word != PAIRED:
            yield word
            continue
        pair = [next(rest, ""), next(rest, "")]
        if any(not name or name.startswith("--") for name in pair):
            raise UsageError(f"{PAIRED} takes two dumps, of two engines that are both right")
        for name in pair:
            yield from (PAIRED, name)
