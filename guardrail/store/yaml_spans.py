"""Where each part of a YAML text begins and ends, for edits that leave everything else alone."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import yaml

_BLOCK_STYLES = ("|", ">")


@dataclass(slots=True)
class Span:
    """One value of the text; offsets count characters."""

    start: int
    end: int
    """Past its last character; comments and blank lines after a block are not part of it."""
    line: int
    column: int
    flow: bool = False
    """True for a list in ``[]`` or a mapping in ``{}``."""
    shared: bool = False
    """True for an alias, and for a part that has a name (``&name``)."""
    entries: "dict[str, tuple[Span, Span]]" = field(default_factory=dict)
    """Key and value of each entry of a mapping."""
    items: "list[Span]" = field(default_factory=list)


def spans(text: str) -> Span:
    """Find every part of a text's only document.

    Args:
        text: YAML that was read before, so that nothing is wrong with it.

    Returns:
        The outermost part. A key that is no plain text is left out, with its value.
    """
    events = yaml.parse(text, Loader=yaml.BaseLoader)
    for event in events:
        if isinstance(event, yaml.DocumentStartEvent):
            break
    return _span(text, next(events), events)


def _span(text: str, event: yaml.Event, events: Iterator[yaml.Event]) -> Span:
    start, end = event.start_mark, event.end_mark
    assert start is not None
    assert end is not None
    span = Span(start.index, end.index, start.line + 1, start.column)
    span.shared = isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None
    if isinstance(event, yaml.ScalarEvent) and event.style in _BLOCK_STYLES:
        span.end = span.start + len(text[span.start : span.end].rstrip())
    if isinstance(event, yaml.CollectionStartEvent):
        span.flow = bool(event.flow_style)
        last = _mapping if isinstance(event, yaml.MappingStartEvent) else _list
        closing = last(text, span, events)
        if span.flow and closing.end_mark is not None:
            span.end = closing.end_mark.index
    return span


def _mapping(text: str, span: Span, events: Iterator[yaml.Event]) -> yaml.Event:
    while not isinstance(event := next(events), yaml.MappingEndEvent):
        key = _span(text, event, events)
        value = _span(text, next(events), events)
        span.end = value.end
        if isinstance(event, yaml.ScalarEvent):
            span.entries[event.value] = (key, value)
    return event


def _list(text: str, span: Span, events: Iterator[yaml.Event]) -> yaml.Event:
    while not isinstance(event := next(events), yaml.SequenceEndEvent):
        span.items.append(_span(text, event, events))
        span.end = span.items[-1].end
    return event
