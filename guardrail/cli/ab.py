"""``guardrail ab``."""

from pathlib import Path
from typing import Annotated

import typer


def ab(
    a: Annotated[
        str,
        typer.Option("--a", help="Arm A, the base: a command, or family.operation:arm.", metavar="ARM"),
    ],
    b: Annotated[
        str | None, typer.Option("--b", help="Arm B; A's command or arm where left out.", metavar="ARM")
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            help="A path, regex or name in the output; of an operation cold_time, hot_time and so on."
        ),
    ] = None,
    case: Annotated[
        list[str] | None,
        typer.Option(help="The arms are operations' and run on this case: its name, or axis=value."),
    ] = None,
    b_case: Annotated[list[str] | None, typer.Option(help="B's name of the case, where it differs.")] = None,
    a_env: Annotated[
        list[str] | None, typer.Option(help="Environment variable of arm A.", metavar="NAME=VALUE")
    ] = None,
    b_env: Annotated[
        list[str] | None, typer.Option(help="Environment variable of arm B.", metavar="NAME=VALUE")
    ] = None,
    reader: Annotated[
        str, typer.Option(help="Format of the output: json, regex, llama-bench and others.")
    ] = "json",
    control: Annotated[
        list[str] | None,
        typer.Option(help="A metric, or an operation's arm, that must not move.", metavar="NAME"),
    ] = None,
    accept: Annotated[
        list[str] | None, typer.Option(help="Criterion to accept B: 'B/A <= 0.996'.", metavar="CRITERION")
    ] = None,
    veto: Annotated[
        list[str] | None, typer.Option(help="Criterion to veto B: 'B/A >= 1.004'.", metavar="CRITERION")
    ] = None,
    self_compare: Annotated[
        bool, typer.Option("--self-compare", help="Compare A with itself; nothing is written down.")
    ] = False,
    pairs: Annotated[int, typer.Option(min=1, help="Pairs at most.")] = 40,
    budget: Annotated[float, typer.Option(min=0, help="Seconds after which no pair begins.")] = 3600.0,
    confidence: Annotated[float, typer.Option(help="Confidence of the verdict, below 1.")] = 0.95,
    cache: Annotated[
        str, typer.Option(help="Compile caches: shared, arm (one each), fresh (empty in every run).")
    ] = "shared",
    warmup: Annotated[
        int | None, typer.Option(min=0, help="Runs of each arm that do not count; 1, with fresh caches 0.")
    ] = None,
    timeout: Annotated[float, typer.Option(min=0.001, help="Seconds after which a run is killed.")] = 600.0,
    relative_error: Annotated[
        float | None, typer.Option(min=0, help="Largest error of an operation's timed outputs; 0.001.")
    ] = None,
    name: Annotated[
        str | None, typer.Option("--id", help="Name of the ledger's row.", metavar="NAME")
    ] = None,
    what: Annotated[str | None, typer.Option(help="What is tried, in one sentence.")] = None,
    mechanism: Annotated[str | None, typer.Option(help="Why it should help, with the arithmetic.")] = None,
    ledger: Annotated[Path, typer.Option(help="The ledger.", metavar="FILE")] = Path("ledger.yaml"),
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Compare two commands or arms of operations, in pairs, by a criterion that is written down first.

    Exit codes: 0 accept, 1 veto, 2 usage, 3 could not run, 4 undecided.
    """
    from guardrail.cli.ab_report import run_comparison
    from guardrail.cli.ab_request import Request

    request = Request(
        a=a, b=b, a_env=tuple(a_env or ()), b_env=tuple(b_env or ()), case=tuple(case or ()),
        b_case=tuple(b_case or ()), reader=reader, metric=metric,
        controls=tuple(control or ()), accept=tuple(accept or ()), veto=tuple(veto or ()),
        self_compare=self_compare, pairs=pairs, budget=budget, confidence=confidence, cache=cache,
        warmup=warmup, timeout=timeout,
        relative_error=relative_error, name=name, what=what, mechanism=mechanism, ledger=ledger,
        as_json=as_json,
    )  # fmt: skip
    raise typer.Exit(run_comparison(request))
