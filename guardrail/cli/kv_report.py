"""What ``guardrail kv plan`` computes and prints."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import typer

from guardrail import registry
from guardrail.cli.options import DEFAULT_GUARDS
from guardrail.cli.table import print_line, print_table
from guardrail.compiled.architectures import ARCHITECTURES
from guardrail.errors import NothingReadError, UsageError
from guardrail.families import Allocation, ModelProfile, Pool
from guardrail.probes.pool import engine_options
from guardrail.probes.references import resolve
from guardrail.spec.model_configs import read_model_config
from guardrail.spec.profile_files import load_profiles
from guardrail.spec.profiles import Profiles
from guardrail.spec.suggest import did_you_mean

_MIB = 2**20


@dataclass(frozen=True, slots=True)
class Request:
    """One command line."""

    model: str
    max_num_seqs: int
    max_num_batched_tokens: int
    capture_sizes: str
    draft_depth: int | None
    layout: str
    device: str
    as_json: bool


@dataclass(frozen=True, slots=True)
class PoolPlan:
    """What one family's pool makes of a request."""

    subject: str
    allocations: tuple[Allocation, ...]
    token_bytes: dict[str, int | None]
    """Bytes of a cached token by model; None where the model's layers are not known."""
    notes: tuple[str, ...]

    @property
    def bytes(self) -> int:
        """Size all sets."""
        return sum(made.bytes for made in self.allocations)


def print_plan(request: Request) -> None:
    """Plan the pools of every family for an engine, and print them.

    Raises:
        UsageError: An option names nothing or is malformed.
        ConfigurationError: The model's file is missing or lacks its geometry.
        NothingReadError: No family has a pool.
    """
    profiles = load_profiles(DEFAULT_GUARDS, frozenset(ARCHITECTURES))
    models = _models(request, profiles)
    if request.device not in profiles.devices:
        hint = did_you_mean(request.device, profiles.devices)
        raise UsageError(f"--device {request.device}: there is no such device profile{hint}")
    options = engine_options(
        profiles.devices[request.device],
        request.max_num_seqs,
        request.max_num_batched_tokens,
        _capture_sizes(request.capture_sizes),
        request.draft_depth,
    )
    plans = [
        PoolPlan(
            subject=subject,
            allocations=resolve(pool.start)(models, options).allocations,
            token_bytes={model.name: resolve(pool.token_bytes)(model) for model in models},
            notes=tuple(resolve(pool.notes)(models, options)) if pool.notes else (),
        )
        for subject, pool in _pools(request.layout)
    ]
    if request.as_json:
        document = {
            "layout": request.layout,
            "device": request.device,
            "models": [model.name for model in models],
            "engine": asdict(options),
            "pools": [_as_json(plan) for plan in plans],
        }
        typer.echo(json.dumps(document, indent=2))
    else:
        for plan in plans:
            _print(plan, request)


def _models(request: Request, profiles: Profiles) -> list[ModelProfile]:
    """Find the model and, unless nothing is drafted, its drafter."""
    name = request.model
    if name not in profiles.models:
        path = Path(name)
        if path.suffix == ".json" or len(path.parts) > 1 or path.exists():
            return [read_model_config(path)]
        hint = did_you_mean(name, profiles.models)
        raise UsageError(f"--model {name}: there is no such model profile and no config.json{hint}")
    target = profiles.models[name]
    if target.drafter is None or request.draft_depth == 0:
        return [target]
    return [target, profiles.models[target.drafter]]


def _capture_sizes(text: str) -> tuple[int, ...]:
    if not text:
        return ()
    words = [word.strip() for word in text.split(",")]
    sizes = tuple(int(word) for word in words if word.isdecimal())
    if len(sizes) < len(words) or 0 in sizes or list(sizes) != sorted(set(sizes)):
        raise UsageError(
            f"--capture-sizes {text}: expected ascending whole numbers from 1 on, such as 1,2,4,8"
        )
    return sizes


def _pools(layout: str) -> list[tuple[str, Pool]]:
    """Find the pools of a layout in every family."""
    pools = [
        (f"{family.name}.{pool.name}", pool)
        for family in registry.families().values()
        for pool in family.pools
    ]
    if not pools:
        raise NothingReadError("no bundled or installed family states a pool")
    found = [(subject, pool) for subject, pool in pools if pool.layout == layout]
    if not found:
        known = {pool.layout for _, pool in pools}
        raise UsageError(f"--layout {layout}: no family has it{did_you_mean(layout, known)}")
    return found


def _as_json(plan: PoolPlan) -> dict[str, Any]:
    sets = [
        asdict(made)
        | {"bytes": made.bytes, "row_bytes": _row_bytes(made), "mib": round(made.bytes / _MIB, 2)}
        for made in plan.allocations
    ]
    totals = {"bytes": plan.bytes, "mib": round(plan.bytes / _MIB, 2), "kv_token_bytes": plan.token_bytes}
    return {"subject": plan.subject, "sets": sets, **totals, "notes": plan.notes}


def _print(plan: PoolPlan, request: Request) -> None:
    print_line(
        f"{plan.subject}: layout {request.layout} on {request.device}, at most {request.max_num_seqs} "
        f"sequences and {request.max_num_batched_tokens} tokens a batch\n"
    )
    print_table(
        ("used by", "rows", "bytes/row", "slots", "bytes/slot", "MiB", "allocated at"),
        [
            (
                ", ".join(made.models),
                str(made.rows),
                str(_row_bytes(made)),
                str(made.slots),
                str(made.slot_bytes),
                f"{made.bytes / _MIB:.2f}",
                made.origin + ("" if made.profiled else ", unknown to the memory profile"),
            )
            for made in plan.allocations
        ],
    )
    count = len(plan.allocations)
    print_line(f"\n{count} set{'s' * (count != 1)}, {plan.bytes} bytes, {plan.bytes / _MIB:.2f} MiB in all")
    print_line(f"KV cache: {_token_bytes(plan.token_bytes)}")
    for note in plan.notes:
        print_line(note)


def _row_bytes(made: Allocation) -> int | float:
    """Divide a set among its rows; a batch of fewer rows has more of it for each."""
    exact, rest = divmod(made.bytes, made.rows)
    return round(made.bytes / made.rows, 1) if rest else exact


def _token_bytes(by_model: dict[str, int | None]) -> str:
    known = [size for size in by_model.values() if size is not None]
    if len(known) < len(by_model):
        return "bytes a token are not known without the number of layers"
    parts = ", ".join(f"{name} {size}" for name, size in by_model.items())
    return f"{sum(known)} bytes a token" + (f" ({parts})" if len(known) > 1 else "") + ", before page padding"
