"""``guardrail show``."""

from typing import Annotated

import typer

from guardrail.cli.options import DEFAULT_GUARDS, GuardsFile


def show(
    guard: Annotated[str, typer.Argument(help="The guard's id.")], guards: GuardsFile = DEFAULT_GUARDS
) -> None:
    """Show a guard's bounds, and where each number comes from."""
    from guardrail.cli.guard_report import find_guard, print_guard

    print_guard(guards, find_guard(guards, guard))
