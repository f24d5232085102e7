"""``guardrail cache``."""

from typing import Annotated

import typer


def cache(
    clear: Annotated[bool, typer.Option("--clear", help="Remove every measurement.")] = False,
) -> None:
    """Say where measurements are cached and how many there are, or remove them."""
    from guardrail.store.cache import MeasurementCache, cache_folder

    folder = cache_folder()
    kept = MeasurementCache(folder)
    size = kept.clear() if clear else kept.size()
    count = f"{size.entries} measurement{'s' * (size.entries != 1)}"
    typer.echo(f"{folder}: {'removed ' if clear else ''}{count}, {size.bytes / 1024:.0f} KiB")
