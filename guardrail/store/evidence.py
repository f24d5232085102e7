"""Evidence files: one for each anchor, named by the hash of its content."""

import dataclasses
import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

from guardrail.errors import UsageError
from guardrail.records.evidence import Evidence, anchored_value
from guardrail.spec.anchors import Anchor, PastAnchor
from guardrail.spec.guards import Guard
from guardrail.store.atomic import write_atomically

if TYPE_CHECKING:
    from pydantic import TypeAdapter

FOLDER = "evidence"
"""Folder of the evidence files, beside the guards file."""

_ALGORITHM = "sha256:"

_REMEDY = (
    "restore it from git; where that cannot be, remove the anchor from the guards file, and measure it anew "
    "with 'guardrail reanchor'"
)


class EvidenceError(UsageError):
    """An evidence file is missing, or is not what its name or its anchor says."""


def render(evidence: Evidence) -> bytes:
    """Write evidence as a file holds it: the same evidence is the same bytes."""
    text = json.dumps(dataclasses.asdict(evidence), indent=1, sort_keys=True, allow_nan=False)
    return text.encode() + b"\n"


def digest(content: bytes) -> str:
    """Name a content as anchors do: ``sha256:`` and its hash."""
    return _ALGORITHM + hashlib.sha256(content).hexdigest()


def evidence_path(folder: Path, name: str) -> Path:
    """Locate the evidence file that an anchor names, beside the guards file of a folder."""
    return folder / FOLDER / f"{name.removeprefix(_ALGORITHM)}.json"


def write_evidence(folder: Path, evidence: Evidence) -> str:
    """Keep evidence beside the guards file of a folder.

    Returns:
        Its name, which the anchor states.

    Raises:
        UsageError: The file cannot be written.
    """
    content = render(evidence)
    path = evidence_path(folder, digest(content))
    try:
        path.parent.mkdir(exist_ok=True)
        write_atomically(path, content)
    except OSError as error:
        raise UsageError(f"{path}: cannot write this evidence: {error.strerror}") from error
    return digest(content)


def read_evidence(folder: Path, name: str) -> Evidence:
    """Read the evidence that an anchor names.

    Raises:
        EvidenceError: The file is missing, was changed since it was named, or is no evidence.
    """
    from pydantic import ValidationError

    path = evidence_path(folder, name)
    shown = f"{FOLDER}/{path.name}"
    try:
        content = path.read_bytes()
    except OSError as error:
        raise EvidenceError(f"its evidence {shown} cannot be read ({error.strerror}); {_REMEDY}") from error
    if digest(content) != name:
        raise EvidenceError(f"its evidence {shown} does not match its own name; {_REMEDY}")
    try:
        evidence = _adapter().validate_json(content)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        place = ".".join(map(str, fault["loc"]))
        raise EvidenceError(f"its evidence {shown} is not one: {place}: {fault['msg']}; {_REMEDY}") from error
    if (
        not evidence.windows
        or anchored_value([window.value for window in evidence.windows]) != evidence.value
    ):
        raise EvidenceError(
            f"the value in its evidence {shown} is not the median of the windows there; {_REMEDY}"
        )
    return evidence


def anchor_fault(
    folder: Path, guard: Guard, metric: str, profile: str | None, anchor: Anchor | PastAnchor
) -> str | None:
    """Say where an anchor departs from its evidence; None where it does not.

    Args:
        folder: Folder of the guards file.
        guard: The guard that states the anchor.
        metric: The metric that it is of.
        profile: The key that it is stated for, where it has one.
        anchor: The anchor in force, or one of the history.
    """
    try:
        evidence = read_evidence(folder, anchor.evidence)
    except EvidenceError as error:
        return str(error)
    day = anchor.date if isinstance(anchor, Anchor) else anchor.valid_from
    pairs = {
        "guard": (guard.id, evidence.guard),
        "metric": (metric, evidence.metric),
        "profile": (profile, evidence.profile),
        "value": (anchor.value, evidence.value),
        "class": (anchor.class_, evidence.anchor_class),
        "reason": (anchor.reason, evidence.reason),
        "commit": (anchor.commit, evidence.commit),
        "day": (day, evidence.date),
        "ref": (anchor.ref, evidence.ref),
        "toolchain": (anchor.toolchain, evidence.toolchain),
    }
    for name, (stated, measured) in pairs.items():
        if stated != measured:
            return (
                f"its {name} is {_shown(stated)}, but its evidence says {_shown(measured)}, and an anchor is "
                f"never moved by hand; {_REMEDY}"
            )
    return None


def _shown(value: object) -> str:
    return "none" if value is None else repr(value)


def _adapter() -> "TypeAdapter[Evidence]":
    from pydantic import TypeAdapter

    return TypeAdapter(Evidence)
