"""Kernel names short enough for a terminal."""

import re
from collections.abc import Iterator

ELLIPSIS = "…"
_LEAST_ARGUMENTS = 12
"""Characters kept for template arguments even where the function's name would fill the column."""
_LENGTH = re.compile(r"(\d+)")
_OPENING = {"<": ">", "(": ")", "[": "]", "{": "}"}


def shorten(name: str, width: int) -> str:
    """Fit a kernel's name into a column.

    Return type and parameters go first, then template arguments inside template arguments, then the outer
    scopes, then the middle of what is left.

    Args:
        name: A demangled or mangled name.
        width: Characters that there is room for.

    Returns:
        At most `width` characters.
    """
    short = _outline(name) if name.startswith("_ZN") else _qualified_name(name)
    while len(short) > width and (nested := _nested_arguments(short)) is not None:
        start, end = nested
        room = max(1, width - start - (len(short) - end))
        short = short[:start] + elide_middle(short[start:end], room) + short[end:]
    if len(short) <= width:
        return short
    function, bracket, arguments = short.partition("<")
    room = max(width - _LEAST_ARGUMENTS, width // 2) if bracket else width
    function = _without_outer_scopes(function, room)
    return function + elide_middle(bracket + arguments, width - len(function))


def elide_middle(text: str, width: int) -> str:
    """Cut the middle out of a text that is longer than `width`."""
    if len(text) <= width:
        return text
    tail = max(0, width - 1) // 2
    head = max(0, width - 1) - tail
    return (text[:head] + ELLIPSIS + text[len(text) - tail :])[:width]


def _without_outer_scopes(function: str, width: int) -> str:
    while len(function) > width and "::" in function:
        function = function.partition("::")[2]
    return elide_middle(function, width)


def _outline(mangled: str) -> str:
    """Read the scopes that a mangled name begins with; the C++ runtime refuses very long ones."""
    parts = []
    rest = mangled.removeprefix("_ZN")
    while length := _LENGTH.match(rest):
        size, start = int(length[1]), length.end()
        parts.append(rest[start : start + size])
        rest = rest[start + size :]
    return "::".join(parts) + (f"<{ELLIPSIS}>" if rest.startswith("I") else "") if parts else mangled


def _qualified_name(demangled: str) -> str:
    """Drop the return type and the parameters; a name without parameters is no C++ function and stays."""
    name = demangled.replace("(anonymous namespace)::", "")
    start = 0
    for position, depth in _depths(name):
        if depth == 0 and name[position] == " ":
            start = position + 1
        if depth == 0 and name[position] == "(":
            return name[start:position] or name
    return name


def _nested_arguments(name: str) -> tuple[int, int] | None:
    """Find the deepest template arguments inside template arguments that are not elided yet."""
    deepest = None
    opened: list[int] = []
    depth_found = 2
    for position, character in enumerate(name):
        if character == "<":
            opened.append(position + 1)
        elif character == ">" and opened and name[position - 1] != "-":
            start = opened.pop()
            if len(opened) + 1 >= depth_found and position - start > len(ELLIPSIS):
                deepest, depth_found = (start, position), len(opened) + 1
    return deepest


def _depths(name: str) -> Iterator[tuple[int, int]]:
    """Give each position with the number of brackets around it; an opening bracket lies outside itself."""
    closing: list[str] = []
    for position, character in enumerate(name):
        if closing and character == closing[-1] and name[position - 1] != "-":
            closing.pop()
        yield position, len(closing)
        if character in _OPENING:
            closing.append(_OPENING[character])
