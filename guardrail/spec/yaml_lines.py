"""YAML as plain data that remembers its lines.

The file is read from the parser's events rather than through one of PyYAML's constructors: no tag is ever
acted on, aliases are counted as they are expanded, and nesting is limited before it can exhaust the stack.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import yaml

from guardrail.spec.faults import ConfigurationError, Fault
from guardrail.spec.files import UNPRINTABLE, read_text
from guardrail.spec.yaml_problems import explain
from guardrail.spec.yaml_scalars import Scalar, resolve

Plain: TypeAlias = "Scalar | list[Plain] | dict[str, Plain]"

Step: TypeAlias = str | int
"""A mapping's key or a list's index."""

MAX_DEPTH = 32
MAX_NODES = 100_000
"""Values in one file with every alias expanded."""


@dataclass(slots=True)
class _Node:
    value: Plain
    line: int
    children: "dict[Step, _Node]" = field(default_factory=dict)
    size: int = 1


@dataclass(frozen=True, slots=True)
class Document:
    """One file's data, and the line of each part of it."""

    file: str
    data: dict[str, Plain]
    _root: _Node

    def line(self, *path: Step) -> int:
        """Find the line of a key or list item, or of the innermost part of the path that is in the file.

        Args:
            path: Keys and indices from the top: ``"guards", 3, "require"``.

        Returns:
            The line, counted from 1.
        """
        node = self._root
        for step in path:
            if step not in node.children:
                break
            node = node.children[step]
        return node.line

    def fault(self, message: str, *path: Step) -> Fault:
        """Describe a fault at a key or list item."""
        return Fault(self.file, self.line(*path), message)


def read_yaml(path: Path, expected: str) -> Document:
    """Read a file that holds one YAML mapping.

    Args:
        path: The file.
        expected: What should be there, as a clause that ends the message about a missing or empty file.

    Returns:
        Its data: mappings with text keys, lists, text, numbers, true, false and null.

    Raises:
        ConfigurationError: It cannot be read, or is no such mapping; one fault, with its line.
    """
    return parse_yaml(read_text(path, expected), str(path), expected)


def parse_yaml(text: str, file: str, expected: str) -> Document:
    """Read text that holds one YAML mapping.

    Args:
        text: What the file holds.
        file: Name of the file, for faults.
        expected: As for `read_yaml`.

    Returns:
        Its data, as `read_yaml` does.

    Raises:
        ConfigurationError: The text is no such mapping; one fault, with its line.
    """
    builder = _Builder(file, yaml.parse(text, Loader=yaml.BaseLoader))
    try:
        root = builder.document()
    except yaml.MarkedYAMLError as error:
        sentence, line = explain(error)
        raise builder.refuse(sentence, line) from None
    except (ValueError, OverflowError):  # PyYAML on escapes and version numbers out of range
        raise builder.refuse("this is not valid YAML") from None
    if root is None:
        raise builder.refuse(f"the file is empty; {expected}")
    if not isinstance(root.value, dict):
        raise builder.refuse(f"the file must hold 'key: value' lines; {expected}", root.line)
    return Document(file, root.value, root)


class _Builder:
    """Builds the tree of one document from events."""

    def __init__(self, file: str, events: Iterator[yaml.Event]) -> None:
        self._file = file
        self._events = events
        self._line = 1
        self._nodes = 0
        self._anchors: dict[str, _Node | None] = {}
        """None while the anchored part is still being read."""

    def refuse(self, message: str, line: int | None = None) -> ConfigurationError:
        return ConfigurationError([Fault(self._file, line or self._line, message)])

    def document(self) -> _Node | None:
        """Read the only document; None where the file has none or only a null."""
        self._next()
        if not isinstance(self._next(), yaml.DocumentStartEvent):
            return None
        root = self._node(self._next(), 0)
        self._next()
        if isinstance(self._next(), yaml.DocumentStartEvent):
            raise self.refuse("a second YAML document begins here ('---'); keep to one")
        return None if root.value is None else root

    def _next(self) -> yaml.Event:
        event = next(self._events)
        if event.start_mark is not None:
            self._line = event.start_mark.line + 1
        return event

    def _node(self, event: yaml.Event, depth: int) -> _Node:
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event)
        assert isinstance(event, yaml.NodeEvent)
        if depth > MAX_DEPTH:
            raise self.refuse(f"values are nested more than {MAX_DEPTH} deep")
        tag = getattr(event, "tag", None)
        if tag is not None:
            shown = tag.replace("tag:yaml.org,2002:", "!!", 1)
            raise self.refuse(f"the tag {shown[:40]!r} is not read; write the plain value")
        if event.anchor is not None:
            self._anchors[event.anchor] = None
        self._count(1)
        if isinstance(event, yaml.ScalarEvent):
            node = self._scalar(event)
        elif isinstance(event, yaml.SequenceStartEvent):
            node = self._list(self._line, depth)
        else:
            node = self._mapping(self._line, depth)
        if event.anchor is not None:
            self._anchors[event.anchor] = node
        return node

    def _count(self, nodes: int) -> None:
        self._nodes += nodes
        if self._nodes > MAX_NODES:
            raise self.refuse(f"the file holds more than {MAX_NODES:,} values with its aliases expanded")

    def _alias(self, event: yaml.AliasEvent) -> _Node:
        name = str(event.anchor)
        if name not in self._anchors:
            raise self.refuse(f"'*{name[:40]}' refers to no '&{name[:40]}' above it")
        node = self._anchors[name]
        if node is None:
            raise self.refuse(f"'*{name[:40]}' refers to a part of the file that contains it")
        self._count(node.size)
        return _Node(node.value, self._line, node.children, node.size)

    def _scalar(self, event: yaml.ScalarEvent) -> _Node:
        if found := UNPRINTABLE.search(event.value):
            raise self.refuse(f"the text holds the control character {found.group()!r}")
        return _Node(event.value if event.style is not None else resolve(event.value), self._line)

    def _list(self, line: int, depth: int) -> _Node:
        values: list[Plain] = []
        node = _Node(values, line)
        while not isinstance(event := self._next(), yaml.SequenceEndEvent):
            child = self._node(event, depth + 1)
            node.children[len(values)] = child
            values.append(child.value)
            node.size += child.size
        return node

    def _mapping(self, line: int, depth: int) -> _Node:
        values: dict[str, Plain] = {}
        node = _Node(values, line)
        while not isinstance(event := self._next(), yaml.MappingEndEvent):
            key, key_line = self._key(event), self._line
            if key in values:
                first = node.children[key].line
                raise self.refuse(f"the key {key[:40]!r} is given twice, first on line {first}")
            child = self._node(self._next(), depth + 1)
            node.children[key] = _Node(child.value, key_line, child.children, child.size)
            values[key] = child.value
            node.size += child.size
        return node

    def _key(self, event: yaml.Event) -> str:
        if not isinstance(event, yaml.ScalarEvent):
            raise self.refuse("a key must be text, not a list, a mapping or an alias")
        key = self._node(event, 0).value
        if event.value == "":
            raise self.refuse("a key is empty")
        if not isinstance(key, str):
            raise self.refuse(f"a key must be text; write it in quotes: '{event.value[:40]}'")
        return key
