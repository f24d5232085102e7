"""What a guard names must exist, and what its bounds are keyed by must be measured."""

from collections.abc import Collection, Iterator

from guardrail.spec.anchors import is_single
from guardrail.spec.faults import Fault
from guardrail.spec.guards import GuardKind
from guardrail.spec.profiles import Profiles
from guardrail.spec.suggest import did_you_mean, shortened
from guardrail.spec.yaml_lines import Document, Plain, Step

Entry = dict[str, Plain]


def check_names(
    document: Document, index: int, entry: Entry, probe: str, kind: GuardKind, profiles: Profiles
) -> Iterator[Fault]:
    """Find every name in a guard that names nothing.

    Reads the plain entry, so that a fault elsewhere in the guard hides none of these.

    Args:
        document: The guards file.
        index: The guard's place in the list, from 0.
        entry: The guard as the file states it.
        probe: The guard's probe.
        kind: What the probe asks of its guards.
        profiles: What may be named.

    Yields:
        One fault for each such name.
    """
    at = ("guards", index)
    known = _metrics_of(entry, kind)
    yield from _check_require(document, (*at, "require"), entry.get("require"), probe, known, profiles)
    yield from _check_keys(document, (*at, "require"), entry, profiles)
    for key, what, known in (
        ("models", "model profile", profiles.models),
        ("devices", "device profile", profiles.devices),
        ("archs", "architecture", profiles.architectures),
    ):
        names = entry.get(key)
        if key not in kind.model.model_fields or not isinstance(names, list):
            continue
        for position, name in enumerate(names):
            if isinstance(name, str) and name not in known:
                message = f"{key}: no {what} is named {shortened(name)}{did_you_mean(name, known)}"
                yield document.fault(message, *at, key, position)
    workload = entry.get("workload")
    model = workload.get("model") if isinstance(workload, dict) else None
    if isinstance(model, str) and model not in profiles.models:
        hint = did_you_mean(model, profiles.models)
        yield document.fault(f"no model profile is named {shortened(model)}{hint}", *at, "workload", "model")


def _metrics_of(entry: Entry, kind: GuardKind) -> Collection[str]:
    """List the metrics that a guard may bound: its probe's, or those that it names itself."""
    named = entry.get("metrics") if kind.names_metrics else None
    return [*kind.metrics, *named] if isinstance(named, dict) else kind.metrics


def _check_keys(
    document: Document, at: tuple[Step, ...], entry: Entry, profiles: Profiles
) -> Iterator[Fault]:
    """Find bounds for an architecture or model that the guard does not measure: they would never apply."""
    require = entry.get("require")
    for key, known in (("archs", profiles.architectures), ("models", profiles.models)):
        measured = entry.get(key)
        if not isinstance(measured, list) or not isinstance(require, dict):
            continue
        if not measured or not all(isinstance(name, str) and name in known for name in measured):
            continue  # a list with a fault of its own says nothing about the bounds
        for metric, bound in require.items():
            for side, limit in bound.items() if isinstance(bound, dict) else ():
                for name in _keys(side, limit):
                    if name in known and name not in measured:
                        message = (
                            f"{name} is not among the guard's {key}, so that its bound would never apply"
                        )
                        yield document.fault(message, *at, metric, side, name)


def _check_require(
    document: Document,
    at: tuple[Step, ...],
    require: Plain,
    probe: str,
    known: Collection[str],
    profiles: Profiles,
) -> Iterator[Fault]:
    if not isinstance(require, dict):
        return
    names = profiles.names()
    for metric, bound in require.items():
        if metric not in known:
            hint = did_you_mean(metric, known)
            yield document.fault(f"the {probe} probe has no metric {shortened(metric)}{hint}", *at, metric)
        if not isinstance(bound, dict):
            continue
        for side, limit in bound.items():
            for name in _keys(side, limit):
                if name not in names:
                    hint = did_you_mean(name, names)
                    message = f"no architecture, device or model profile is named {shortened(name)}{hint}"
                    yield document.fault(message, *at, metric, side, name)


def _keys(side: str, limit: Plain) -> tuple[str, ...]:
    """List the names that a part of a bound is keyed by."""
    keyed = isinstance(limit, dict) and not (side == "anchor" and is_single(limit))
    return tuple(limit) if keyed and isinstance(limit, dict) else ()
