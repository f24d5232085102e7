"""Finding probes, families and subjects by name."""

import importlib
import pkgutil
import re
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import guardrail.kernels
from guardrail.errors import UsageError
from guardrail.families import Family, Subject
from guardrail.probes.interface import Probe

_PROBES = {
    "capacity": "guardrail.probes.capacity:CapacityProbe",
    "census": "guardrail.probes.census:CensusProbe",
    "command": "guardrail.probes.command:CommandProbe",
    "decode": "guardrail.probes.decode:DecodeProbe",
    "dispatch": "guardrail.probes.dispatch:DispatchProbe",
    "kv_budget": "guardrail.probes.kv_budget:KvBudgetProbe",
    "logits": "guardrail.probes.logits:LogitsProbe",
    "numerics": "guardrail.probes.numerics:NumericsProbe",
    "pool": "guardrail.probes.pool:PoolProbe",
    "quality": "guardrail.probes.quality:QualityProbe",
    "reduction_layouts": "guardrail.probes.reduction_layouts:ReductionLayoutsProbe",
    "resources": "guardrail.probes.resources:ResourcesProbe",
    "serving": "guardrail.probes.serving:ServingProbe",
    "timing": "guardrail.probes.timing:TimingProbe",
    "vllm_logits": "guardrail.probes.vllm_logits:VllmLogitsProbe",
}

_SUBJECT = re.compile(r"^(?:(?P<module>[\w.]+):)?(?P<family>\w+)(?:\.(?P<name>[\w.-]+))?$")


def probes() -> Mapping[str, Probe[Any]]:
    """Make every known probe, those of installed packages included (entry points ``guardrail.probes``).

    Raises:
        UsageError: Two probes have one name, or one cannot be imported.
    """
    references = dict(_PROBES)
    for entry in metadata.entry_points(group="guardrail.probes"):
        if entry.name in references:
            raise UsageError(f"entry point {entry.value}: a probe named {entry.name!r} exists already")
        references[entry.name] = entry.value
    return {name: _load(reference)() for name, reference in sorted(references.items())}


def families() -> Mapping[str, Family]:
    """Load every bundled family's manifest and those of installed packages (``guardrail.families``).

    Raises:
        UsageError: Two families have one name, or a manifest cannot be imported.
    """
    references = [
        f"guardrail.kernels.{module.name}.manifest:FAMILY"
        for module in pkgutil.iter_modules(guardrail.kernels.__path__)
        if module.ispkg
        and any((Path(path) / module.name / "manifest.py").is_file() for path in guardrail.kernels.__path__)
    ]
    references += [entry.value for entry in metadata.entry_points(group="guardrail.families")]
    found: dict[str, Family] = {}
    for reference in references:
        family = _load_family(reference)
        if family.name in found:
            raise UsageError(f"{reference}: a family named {family.name!r} exists already")
        found[family.name] = family
    return found


def find_subject(name: str, known: Mapping[str, Family], kinds: tuple[type, ...]) -> Subject:
    """Find what ``family.name``, ``module:family.name`` or ``module:family`` names.

    Args:
        name: The subject's name. Without ``.name`` the family must have one subject of the wanted kinds.
        known: Families that need no module.
        kinds: Kinds of subject that will do.

    Raises:
        UsageError: There is no such module, family or subject, or it is of another kind.
    """
    family, subject = _find_family(name, known)
    subjects = {key: value for key, value in family.subjects().items() if isinstance(value, kinds)}
    wanted = " or ".join(sorted(kind.__name__.lower() for kind in kinds))
    if subject is None and len(subjects) == 1:
        return next(iter(subjects.values()))
    offered = ", ".join(sorted(subjects)) or "none"
    if subject is None:
        raise UsageError(f"{name!r} names a family alone; add one {wanted} of it: {offered}")
    if subject not in subjects:
        raise UsageError(f"family {family.name} has no {wanted} {subject!r}; it has: {offered}")
    return subjects[subject]


def find_family(name: str, known: Mapping[str, Family]) -> Family:
    """Find the family of a subject that `find_subject` finds.

    Raises:
        UsageError: There is no such module or family.
    """
    return _find_family(name, known)[0]


def _find_family(name: str, known: Mapping[str, Family]) -> tuple[Family, str | None]:
    """Split a subject's name into its family and its name there."""
    match = _SUBJECT.match(name)
    if match is None:
        raise UsageError(
            f"subject {name!r} is neither family.name, module:family.name nor a file that exists"
        )
    if match["module"]:
        return _load_family(f"{match['module']}:{match['family']}"), match["name"]
    if match["family"] not in known:
        raise UsageError(
            f"there is no family {match['family']!r} and no file {name!r}; known families: "
            f"{', '.join(sorted(known)) or 'none'}"
        )
    return known[match["family"]], match["name"]


def _load_family(reference: str) -> Family:
    family = _load(reference)
    if not isinstance(family, Family):
        raise UsageError(f"{reference} is a {type(family).__name__}, not a guardrail.families.Family")
    try:
        family.subjects()
    except ValueError as error:
        raise UsageError(f"{reference}: {error}") from error
    return family


def _load(reference: str) -> Any:
    """Import one ``"module:attribute"``, naming what is wrong where that fails."""
    module, _, attribute = reference.partition(":")
    try:
        loaded = importlib.import_module(module)
    except (Exception, SystemExit) as error:  # a user's module may raise anything while it is imported
        raise UsageError(f"{reference}: cannot import {module}: {type(error).__name__}: {error}") from error
    if not hasattr(loaded, attribute):
        raise UsageError(f"{reference}: {module} has no {attribute}")
    return getattr(loaded, attribute)
