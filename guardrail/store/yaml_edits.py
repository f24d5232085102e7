"""The smallest edits of a YAML text: one value replaced, one entry added or taken out."""

import json
import re
from collections.abc import Mapping

from guardrail.spec.yaml_lines import Plain
from guardrail.spec.yaml_scalars import resolve
from guardrail.store.yaml_spans import Span

_LINE_END = re.compile(r"\r\n|\r|\n|\Z")
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*%?")


class CannotEditError(Exception):
    """A part of the text has a format that no small edit fits.

    Args:
        line: Where, counted from 1.
        reason: What is in the way.
    """

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line = line


def flow_mapping(entries: Mapping[str, Plain]) -> str:
    """Write a mapping on one line, its texts in double quotes but for plain words."""
    return "{" + ", ".join(f"{scalar(key)}: {scalar(value)}" for key, value in entries.items()) + "}"


def scalar(value: Plain) -> str:
    """Write a text or number so that it reads back as it is."""
    if isinstance(value, str):
        plain = _PLAIN.fullmatch(value) and isinstance(resolve(value), str) and not _looks_like_hash(value)
        return value if plain else json.dumps(value, ensure_ascii=False)
    return repr(value)


def replaced(text: str, span: Span, new: str) -> str:
    """Put a scalar in the place of another.

    Raises:
        CannotEditError: The old one has a name (``&name``) or is an alias.
    """
    _refuse_shared(span)
    return text[: span.start] + new + text[span.end :]


def with_entry(text: str, mapping: Span, key: str, value: str) -> str:
    """Add an entry at the end of a mapping.

    Args:
        text: The whole text.
        mapping: Where the mapping is.
        key: The entry's key.
        value: The entry's value in flow style; in a block it may begin with a line break, whose lines are
            indented against the key.
    """
    _refuse_shared(mapping)
    gap = "" if value.startswith("\n") else " "
    entry = f"{scalar(key)}:{gap}{value}"
    if mapping.flow:
        return _added_in_flow(text, mapping, entry, empty=not mapping.entries)
    return _added_in_block(text, mapping, entry)


def with_item(text: str, items: Span, value: str) -> str:
    """Add an item, in flow style, at the end of a list."""
    _refuse_shared(items)
    if items.flow:
        return _added_in_flow(text, items, value, empty=not items.items)
    return _added_in_block(text, items, f"- {value}")


def without_entry(text: str, mapping: Span, key: str) -> str:
    """Take an entry out of a mapping that has others; a comment behind it stays.

    Raises:
        CannotEditError: More than the entry lies where it does.
    """
    _refuse_shared(mapping)
    names = list(mapping.entries)
    position = names.index(key)
    own_key, value = mapping.entries[key]
    if not mapping.flow:
        start = _line_start(text, own_key.start)
        end = _LINE_END.search(text, value.end)
        assert end is not None
        if position == 0 or text[start : own_key.start].strip():
            raise CannotEditError(own_key.line, f"{key!r} shares its line with something else")
        comment = text[value.end : end.start()].lstrip()
        kept = text[start : own_key.start] + comment + end.group() if comment else ""
        return text[:start] + kept + text[end.end() :]
    start, end_at = (
        (mapping.entries[names[position - 1]][1].end, value.end)
        if position
        else (own_key.start, mapping.entries[names[1]][0].start)
    )
    if "#" in text[start : own_key.start] + text[value.end : end_at]:
        raise CannotEditError(own_key.line, f"a comment stands beside {key!r}")
    return text[:start] + text[end_at:]


def line_break_at(text: str, offset: int) -> str:
    """Tell how the line around an offset ends; as the text's first line does, where it is the last."""
    for found in (_LINE_END.search(text, offset), _LINE_END.search(text)):
        if found and found.group():
            return found.group()
    return "\n"


def _added_in_flow(text: str, span: Span, entry: str, empty: bool) -> str:
    place, lead = (span.start + 1, "") if empty else (span.end, ", ")
    if not empty:
        parts = [value for _, value in span.entries.values()] or span.items
        place = parts[-1].end
    return text[:place] + lead + entry + text[place:]


def _added_in_block(text: str, span: Span, entry: str) -> str:
    line_break = line_break_at(text, span.end)
    end = _LINE_END.search(text, span.end)
    assert end is not None
    lines = [" " * span.column + line for line in entry.split("\n")]
    new = line_break.join(lines)
    if end.group():
        return text[: end.end()] + new + line_break + text[end.end() :]
    return text + line_break + new


def _refuse_shared(span: Span) -> None:
    if span.shared:
        raise CannotEditError(span.line, "it is shared with other parts of the file ('&name' or '*name')")


def _line_start(text: str, offset: int) -> int:
    return max(text.rfind("\n", 0, offset), text.rfind("\r", 0, offset)) + 1


def _looks_like_hash(value: str) -> bool:
    """Keep commit hashes in quotes: the next one may be all digits."""
    return re.fullmatch(r"[0-9a-f]{7,}", value) is not None
