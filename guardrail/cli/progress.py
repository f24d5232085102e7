"""A progress bar on a terminal, silence elsewhere."""

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from guardrail import engine
    from guardrail.app import ProgressListener


@contextlib.contextmanager
def progress() -> "Iterator[ProgressListener]":
    """Show how many measurements are done, on standard error, until the block ends."""
    if not sys.stderr.isatty() or os.environ.get("CI"):
        yield lambda event: None
        return
    columns = (TextColumn("measuring"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("measuring", total=None)

        def listen(event: "engine.Progress") -> None:
            bar.update(task, completed=event.done, total=event.total)

        yield listen
