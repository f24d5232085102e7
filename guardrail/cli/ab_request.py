"""From the command line of ``guardrail ab`` to what is compared."""

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from guardrail.ab.arm import Arm, Side, find_program
from guardrail.ab.criterion import parse_criterion
from guardrail.ab.plan import Plan
from guardrail.ab.subjects import METRICS, RELATIVE_ERROR, SubjectPlan
from guardrail.adapters.subject_arms import find_subject_arm
from guardrail.errors import UsageError
from guardrail.records.cache import Cache


@dataclass(frozen=True, slots=True)
class Request:
    """One command line."""

    a: str
    b: str | None
    a_env: tuple[str, ...]
    b_env: tuple[str, ...]
    case: tuple[str, ...]
    b_case: tuple[str, ...]
    reader: str
    metric: str | None
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
    relative_error: float | None
    name: str | None
    what: str | None
    mechanism: str | None
    ledger: Path
    as_json: bool


def plan_of(request: Request) -> Plan:
    """Plan a comparison of two commands.

    Raises:
        UsageError: An option is malformed or missing, or is one for arms of operations.
    """
    _refuse(request, "an arm of an operation, named with --case,", b_case=(), relative_error=None)
    if request.cache not in list(Cache):
        raise UsageError(f"--cache {request.cache}: expected one of {', '.join(Cache)}")
    cache = Cache(request.cache)
    # A run that compiles everything again has nothing to warm up.
    warmup = request.warmup if request.warmup is not None else int(cache is not Cache.FRESH)
    own_env = request.a_env if request.self_compare and not request.b_env else request.b_env
    a = _arm("A", request.a, request.a_env)
    b = _arm("B", request.b if request.b is not None else request.a, own_env)
    shared = dict(os.environ)
    if request.metric is None:
        for arm in (a, b):
            find_program(arm, shared)  # an arm of an operation lacks another option, and is none
        raise UsageError("give --metric: where the metric is in what a command prints")
    return Plan(
        a=a,
        b=b,
        metric=request.metric,
        reader=request.reader,
        controls=request.controls,
        timeout=request.timeout,
        warmup=warmup,
        cache=cache,
        shared=shared,
        **_terms(request),
    )


def subject_plan_of(request: Request) -> SubjectPlan:
    """Plan a comparison of two arms of operations.

    Raises:
        UsageError: An option is malformed, names what is not there, or is one for commands.
    """
    _refuse(request, "a command", a_env=(), b_env=(), reader="json", cache=Cache.SHARED, warmup=None)
    metric = request.metric or METRICS[0]
    own_case = request.b_case or request.case
    controls = [find_subject_arm(name, request.case, "--control") for name in request.controls]
    return SubjectPlan(
        a=find_subject_arm(request.a, request.case, "--a"),
        b=find_subject_arm(request.b if request.b is not None else request.a, own_case, "--b"),
        metric=metric,
        beside=tuple(each for each in METRICS if each != metric),
        controls=tuple(map(str, controls)),
        control_arms=tuple(controls),
        timeout=request.timeout,
        relative_error=RELATIVE_ERROR if request.relative_error is None else request.relative_error,
        **_terms(request),
    )


def _terms(request: Request) -> dict[str, Any]:
    """Read what decides, whatever the arms are."""
    if not 0 < request.confidence < 1:
        raise UsageError(f"--confidence {request.confidence:g}: expected a probability between 0 and 1")
    return {
        "accept": tuple(parse_criterion(text, "--accept") for text in request.accept),
        "veto": tuple(parse_criterion(text, "--veto") for text in request.veto),
        "self_compare": request.self_compare,
        "pairs": request.pairs,
        "budget": request.budget,
        "confidence": request.confidence,
    }


def _refuse(request: Request, owner: str, **left_out: object) -> None:
    """Refuse options that the arms do not have, by what each is where it is left out."""
    for name, value in left_out.items():
        if getattr(request, name) != value:
            raise UsageError(f"--{name.replace('_', '-')}: only {owner} has it")


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
