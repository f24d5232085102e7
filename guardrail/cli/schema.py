"""``guardrail schema``."""

from enum import StrEnum
from typing import Annotated

import typer


class Document(StrEnum):
    """A file format that guardrail publishes a JSON Schema of."""

    GUARDS = "guards"
    REPORT = "report"


def schema(
    document: Annotated[
        Document, typer.Argument(help="guards: guards.yaml; report: a saved run.")
    ] = Document.GUARDS,
) -> None:
    """Print the JSON Schema of the guards file or of a saved report."""
    import json

    from guardrail import catalog

    typer.echo(json.dumps(catalog.schemas()[document], indent=2))
