"""Loads a guards file, or reports everything that is wrong with it."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import get_args

from guardrail.spec.anchors import Anchor, PastAnchor
from guardrail.spec.faults import ConfigurationError, Fault
from guardrail.spec.guard_checks import check_names
from guardrail.spec.guards import Guard, GuardKind, GuardsFile, LoadedGuard
from guardrail.spec.messages import shown
from guardrail.spec.profiles import Profiles
from guardrail.spec.suggest import did_you_mean, shortened
from guardrail.spec.validation import validate
from guardrail.spec.yaml_lines import Document, Plain, read_yaml

EXPECTED = (
    "expected a guards file; write one that begins with 'version: 1' and 'guards: []', "
    "or name another with --guards"
)

VERSIONS: tuple[int, ...] = get_args(GuardsFile.model_fields["version"].annotation)
"""Versions of the format that this guardrail reads."""

SubjectFault = Callable[[Guard], str | None]
"""Says what is wrong with a guard's subject; None where nothing is."""

AnchorFault = Callable[[Guard, str, str | None, Anchor | PastAnchor], str | None]
"""Says what is wrong with the anchor of a guard's metric for a profile; None where nothing is."""


def load_guards(
    path: Path,
    kinds: Mapping[str, GuardKind],
    profiles: Profiles,
    subject_fault: SubjectFault,
    anchor_fault: AnchorFault = lambda guard, metric, profile, anchor: None,
) -> tuple[LoadedGuard, ...]:
    """Load a guards file.

    Args:
        path: The file.
        kinds: What each probe asks of its guards, by the probe's name.
        profiles: The profiles and architectures that guards may name.
        subject_fault: Called with each guard that is otherwise well formed.
        anchor_fault: Called with each anchor of such a guard, those of its history included.

    Returns:
        The guards in the file's order; none where the file lists none.

    Raises:
        ConfigurationError: The file is wrong; all of its faults, each with its line.
    """
    document = read_yaml(path, EXPECTED)
    _refuse_other_versions(document)
    _, faults = validate(GuardsFile, document, _without_guards(document.data))
    entries = document.data.get("guards")
    loaded: list[LoadedGuard] = []
    for index, entry in enumerate(entries if isinstance(entries, list) else ()):
        guard, found = _load_guard(document, index, entry, kinds, profiles)
        faults += found
        if guard is None:
            continue
        if wrong := subject_fault(guard.guard):
            faults.append(document.fault(wrong, "guards", index, "subject"))
        faults += _anchor_faults(document, index, guard.guard, anchor_fault)
        loaded.append(guard)
    faults += _duplicates(document, entries)
    if faults:
        raise ConfigurationError(faults)
    return tuple(loaded)


def _refuse_other_versions(document: Document) -> None:
    """Refuse a file in a format whose other faults this guardrail cannot judge."""
    reads = "this guardrail reads version " + " and ".join(map(str, VERSIONS))
    if "version" not in document.data:
        raise ConfigurationError([document.fault(f"the key 'version' is missing; {reads}")])
    version = document.data["version"]
    if isinstance(version, bool) or version not in VERSIONS:
        raise ConfigurationError(
            [document.fault(f"the file's version is {shown(version)}; {reads}", "version")]
        )


def _without_guards(data: Mapping[str, Plain]) -> dict[str, Plain]:
    """Leave the guards themselves to their own models."""
    return {key: [] if key == "guards" and isinstance(value, list) else value for key, value in data.items()}


def _load_guard(
    document: Document, index: int, entry: Plain, kinds: Mapping[str, GuardKind], profiles: Profiles
) -> tuple[LoadedGuard | None, list[Fault]]:
    at = ("guards", index)
    if not isinstance(entry, dict):
        return None, [document.fault("a guard must be 'key: value' lines, beginning with '- id: ...'", *at)]
    probe = entry.get("probe")
    kind = kinds.get(probe) if isinstance(probe, str) else None
    if kind is None:
        # The keys of an unknown probe are unknown too; those that every guard has can still be judged.
        common = {key: value for key, value in entry.items() if key in Guard.model_fields}
        _, faults = validate(Guard, document, common, at)
        if isinstance(probe, str):
            hint = did_you_mean(probe, kinds)
            faults.append(document.fault(f"there is no probe {shortened(probe)}{hint}", *at, "probe"))
        return None, faults
    guard, faults = validate(kind.model, document, entry, at)
    faults += check_names(document, index, entry, str(probe), kind, profiles)
    if guard is None:
        return None, faults
    bound_lines = {metric: document.line(*at, "require", metric) for metric in guard.require}
    return LoadedGuard(guard, document.line(*at), bound_lines), faults


def _anchor_faults(
    document: Document, index: int, guard: Guard, anchor_fault: AnchorFault
) -> Iterator[Fault]:
    for metric, bound in guard.require.items():
        at = ("guards", index, "require", metric)
        for profile, anchor in bound.anchors().items():
            key = () if profile is None else (profile,)
            if wrong := anchor_fault(guard, metric, profile, anchor):
                yield document.fault(f"anchor of {metric}: {wrong}", *at, "anchor", *key, "value")
        for place, past in enumerate(bound.history):
            if wrong := anchor_fault(guard, metric, past.profile, past):
                yield document.fault(f"history of {metric}: {wrong}", *at, "history", place, "value")


def _duplicates(document: Document, entries: Plain) -> list[Fault]:
    first: dict[str, int] = {}
    faults: list[Fault] = []
    for index, entry in enumerate(entries if isinstance(entries, list) else ()):
        name = entry.get("id") if isinstance(entry, dict) else None
        if not isinstance(name, str):
            continue
        line = document.line("guards", index, "id")
        if name in first:
            faults.append(
                document.fault(
                    f"the id {shortened(name)} is used on line {first[name]} already", "guards", index, "id"
                )
            )
        first.setdefault(name, line)
    return faults
