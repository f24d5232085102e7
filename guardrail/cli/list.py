"""``guardrail list``: what there is to guard, and with what."""

import typer

from guardrail.cli.options import DEFAULT_GUARDS, GuardsFile

list_app = typer.Typer(no_args_is_help=True, help="List guards, subjects, metrics or profiles.")


@list_app.command()
def guards(guards: GuardsFile = DEFAULT_GUARDS) -> None:
    """List the guards of a guards file."""
    from guardrail.cli.table import print_table
    from guardrail.workspace import Selection, open_workspace

    workspace = open_workspace(Selection(guards))
    rows = [
        (item.guard.id, item.guard.probe, item.guard.subject, item.guard.title) for item in workspace.guards
    ]
    print_table(("id", "probe", "subject", "what holds"), rows)


@list_app.command()
def subjects() -> None:
    """List the subjects of the bundled and installed families."""
    from guardrail import catalog
    from guardrail.cli.table import print_table

    print_table(("subject", "kind", "probes", "controls"), catalog.subjects())


@list_app.command()
def metrics() -> None:
    """List the metrics of every probe."""
    from guardrail import catalog
    from guardrail.cli.table import print_table

    print_table(("probe", "metric", "unit", "meaning"), catalog.metrics())


@list_app.command()
def profiles(guards: GuardsFile = DEFAULT_GUARDS) -> None:
    """List the device and model profiles, those beside the guards file included."""
    from guardrail import catalog
    from guardrail.cli.table import print_table

    print_table(("kind", "profile", "what it is"), catalog.profiles(guards))
