"""From the command line of ``guardrail ab`` to a plan."""

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from guardrail.ab.arm import Arm, Side
from guardrail.ab.criterion import parse_criterion
from guardrail.ab.plan import Plan
from guardrail.errors import UsageError
from guardrail.records.cache import Cache


@dataclass(frozen=True, slots=True)
class Request:
    """One command line."""

    a: str
    b: str | None
    a_env: tuple[str, ...]
    b_env: tuple[str, ...]
    reader: str
    metric: str
    controls: tuple[str, ...]
    accept: tuple[str, ...]
    veto: tuple[str, ...]
    self_compare: bool
    pairs: int
    budget: float
    confidence: float
    cache: str
    warmup: int | None
    timeout: float
    name: str | None
    what: str | None
    mechanism: str | None
    ledger: Path
    as_json: bool


def plan_of(request: Request) -> Plan:
    """Make a plan of a command line.

    Raises:
        UsageError: An option is malformed.
    """
    if request.cache not in list(Cache):
        raise UsageError(f"--cache {request.cache}: expected one of {', '.join(Cache)}")
    if not 0 < request.confidence < 1:
        raise UsageError(f"--confidence {request.confidence:g}: expected a probability between 0 and 1")
    cache = Cache(request.cache)
    # A run that compiles everything again has nothing to warm up.
    warmup = request.warmup if request.warmup is not None else int(cache is not Cache.FRESH)
    own_env = request.a_env if request.self_compare and not request.b_env else request.b_env
    return Plan(
        a=_arm("A", request.a, request.a_env),
        b=_arm("B", request.b if request.b is not None else request.a, own_env),
        metric=request.metric,
        reader=request.reader,
        controls=request.controls,
        accept=tuple(parse_criterion(text, "--accept") for text in request.accept),
        veto=tuple(parse_criterion(text, "--veto") for text in request.veto),
        self_compare=request.self_compare,
        pairs=request.pairs,
        budget=request.budget,
        confidence=request.confidence,
        timeout=request.timeout,
        warmup=warmup,
        cache=cache,
        shared=dict(os.environ),
    )


def _arm(side: Side, command: str, variables: Sequence[str]) -> Arm:
    option = f"--{side.lower()}"
    try:
        words = tuple(shlex.split(command))
    except ValueError as error:
        raise UsageError(f"{option} {command!r}: {error}") from None
    if not words:
        raise UsageError(f"{option}: the command is empty")
    environment: dict[str, str] = {}
    for variable in variables:
        name, equals, value = variable.partition("=")
        if not name or not equals:
            raise UsageError(f"{option}-env {variable}: expected NAME=VALUE")
        if name in environment:
            raise UsageError(f"{option}-env {name} is given twice")
        environment[name] = value
    return Arm(side, words, environment)
