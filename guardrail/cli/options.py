"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

GuardsFile = Annotated[Path, typer.Option("--guards", help="The guards file.", metavar="FILE")]

DEFAULT_GUARDS = Path("guards.yaml")

FORMATS = ("terminal", "json", "junit", "github")
