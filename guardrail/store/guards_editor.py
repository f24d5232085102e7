"""Moves anchors in a guards file: only their own lines, and never halfway."""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from guardrail.errors import UsageError
from guardrail.spec.faults import ConfigurationError
from guardrail.spec.load import EXPECTED
from guardrail.spec.yaml_lines import Document, Plain, parse_yaml
from guardrail.store.atomic import locked, write_atomically
from guardrail.store.yaml_edits import (
    CannotEditError,
    flow_mapping,
    replaced,
    scalar,
    with_entry,
    with_item,
    without_entry,
)
from guardrail.store.yaml_spans import Span, spans

Entry: TypeAlias = Mapping[str, Plain]

_BOM = "\ufeff"


@dataclass(frozen=True, slots=True)
class Move:
    """One anchor to put in the place of another, or of none."""

    guard: str
    metric: str
    profile: str | None
    """Key of the anchor; None for one that holds everywhere."""
    anchor: Entry
    past: Entry | None = None
    """What the history keeps of the anchor in force; None where there is none."""
    superseded: str | None = None
    """Evidence of the anchor that must still be in force."""
    slack: str | None = None
    """Another slack; None to leave it."""


def move_anchors(path: Path, moves: Sequence[Move], write: bool = True) -> tuple[str, str]:
    """Write anchors into a guards file, under a lock and all of them at once.

    Args:
        path: The guards file.
        moves: What to move.
        write: False to leave the file as it is.

    Returns:
        The file's text before and after.

    Raises:
        UsageError: The file cannot be read or written, an anchor was moved meanwhile, or a part of the file
            has a format that no small edit fits. The file is as it was.
    """
    target = path.resolve()
    try:
        with locked(target.parent):
            before = target.read_bytes().decode()
            after = before
            for move in moves:
                after = edited(after, str(path), move)
            if write and after != before:
                write_atomically(target, after.encode())
    except OSError as error:
        raise UsageError(f"{path}: cannot move anchors: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: the file is not UTF-8 text; save it as UTF-8") from error
    return before, after


def edited(text: str, file: str, move: Move) -> str:
    """Make one move in the text of a guards file.

    Args:
        text: The whole text.
        file: Name of the file, for errors.
        move: What to move.

    Returns:
        The text, the same outside of the metric's bound.

    Raises:
        UsageError: As for `move_anchors`.
    """
    bom = _BOM if text.startswith(_BOM) else ""
    body = text.removeprefix(_BOM)
    document = parse_yaml(body, file, EXPECTED)
    at = _path(document, move)
    line = document.line(*at)
    try:
        _refuse_moved_meanwhile(document, at, move)
        new = _edit(body, at, move)
        found = parse_yaml(new, file, EXPECTED).data
    except CannotEditError as error:
        raise _uneditable(file, error.line, str(error)) from None
    except ConfigurationError:
        raise _uneditable(file, line, "the edit would break the file") from None
    if found != _expected(document, at, move):
        raise _uneditable(file, line, "the edit would change more than its anchor")
    return bom + new


def _uneditable(file: str, line: int, reason: str) -> UsageError:
    return UsageError(
        f"{file}:{line}: this part cannot be edited without rewriting more of it: {reason}; write the bound "
        "on one line, as 'METRIC: {slack: 2%}' with its anchor and history inside the braces"
    )


def _path(document: Document, move: Move) -> tuple[str | int, ...]:
    guards: Any = document.data.get("guards")
    for index, guard in enumerate(guards if isinstance(guards, list) else ()):
        if isinstance(guard, dict) and guard.get("id") == move.guard:
            require = guard.get("require")
            if isinstance(require, dict) and isinstance(require.get(move.metric), dict):
                return ("guards", index, "require", move.metric)
    raise UsageError(f"{document.file}: the bound of {move.metric} in guard {move.guard} is no longer there")


def _bound(data: Any, at: tuple[str | int, ...]) -> Any:
    for step in at:
        data = data[step]
    return data


def _anchor(bound: Any, profile: str | None) -> Any:
    anchor = bound.get("anchor")
    return anchor if profile is None or anchor is None else anchor.get(profile)


def _refuse_moved_meanwhile(document: Document, at: tuple[str | int, ...], move: Move) -> None:
    anchor = _anchor(_bound(document.data, at), move.profile)
    in_force = anchor.get("evidence") if isinstance(anchor, dict) else None
    if in_force != move.superseded:
        raise UsageError(
            f"{document.file}:{document.line(*at)}: the anchor of {move.metric} was moved while the new one "
            "was measured; look at it, and measure again"
        )


def _edit(text: str, at: tuple[str | int, ...], move: Move) -> str:
    if move.slack is not None:
        span = _find(text, at).entries["slack"][1]
        quote = text[span.start] if text[span.start] in "'\"" else ""
        text = replaced(text, span, f"{quote}{move.slack}{quote}")
    text = _with_anchor(text, at, move)
    if move.past is not None:
        text = _with_history(text, at, move.past)
    return text


def _find(text: str, at: tuple[str | int, ...]) -> Span:
    """Find a part of a text that no other part of the file shares."""
    span = spans(text)
    for step in at:
        if span.shared:
            raise CannotEditError(span.line, "it is shared with other parts of the file ('&name' or '*name')")
        span = span.items[step] if isinstance(step, int) else span.entries[step][1]
    return span


def _with_anchor(text: str, at: tuple[str | int, ...], move: Move) -> str:
    bound = _find(text, at)
    new = flow_mapping(move.anchor)
    if "anchor" not in bound.entries:
        if move.profile is not None:
            keyed = f"{scalar(move.profile)}: {new}"
            new = f"{{{keyed}}}" if bound.flow else f"\n  {keyed}"
        return with_entry(text, bound, "anchor", new)
    key = (*at, "anchor") if move.profile is None else (*at, "anchor", move.profile)
    anchors = _find(text, (*at, "anchor"))
    if move.profile is not None and move.profile not in anchors.entries:
        return with_entry(text, anchors, move.profile, new)
    return _with_fields(text, key, move.anchor)


def _with_fields(text: str, at: tuple[str | int, ...], fields: Entry) -> str:
    """Give a mapping these entries and no others."""
    present = _find(text, at).entries
    # From the last to the first, so that those before keep their places.
    for name in sorted(present.keys() & fields.keys(), key=lambda name: present[name][1].start, reverse=True):
        text = replaced(text, present[name][1], scalar(fields[name]))
    for name in [name for name in fields if name not in present]:
        text = with_entry(text, _find(text, at), name, scalar(fields[name]))
    for name in present.keys() - fields.keys():
        text = without_entry(text, _find(text, at), name)
    return text


def _with_history(text: str, at: tuple[str | int, ...], past: Entry) -> str:
    bound = _find(text, at)
    item = flow_mapping(past)
    if "history" in bound.entries:
        return with_item(text, _find(text, (*at, "history")), item)
    return with_entry(text, bound, "history", f"[{item}]" if bound.flow else f"\n  - {item}")


def _expected(document: Document, at: tuple[str | int, ...], move: Move) -> Plain:
    """Make the same move in plain data."""
    data = copy.deepcopy(document.data)
    bound = _bound(data, at)
    if move.slack is not None:
        bound["slack"] = move.slack
    if move.profile is None:
        bound["anchor"] = dict(move.anchor)
    else:
        bound.setdefault("anchor", {})[move.profile] = dict(move.anchor)
    if move.past is not None:
        bound.setdefault("history", []).append(dict(move.past))
    return data
