"""Long mangled C++ names made shorter, and their demangled texts made whole again.

The demangler of libstdc++ refuses names of more than 1,024 characters, and templated kernels have them. An
identifier in a mangled name is its length and its text (Itanium C++ ABI, ``<source-name>``), so one character
in its place leaves everything around it as it was.
"""

import re
from collections.abc import Mapping

_TOKEN = re.compile(
    r"(?P<literal>L[a-z]n?\d+E)|(?P<back_reference>[ST][0-9A-Z]*_)|(?P<length>\d+)|[^LST\d]+|."
)
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_ANONYMOUS_NAMESPACE = "_GLOBAL__N_"
_PLACEHOLDERS = [chr(code) for code in range(0x80, 0x100)]


def abbreviate(mangled: str) -> tuple[str, Mapping[str, str]]:
    """Put one character for every longer identifier.

    Args:
        mangled: A symbol of the Itanium C++ ABI, in ASCII.

    Returns:
        The shorter symbol, with placeholders from U+0080 to U+00FF, and the identifier that each stands for.
    """
    placeholders: dict[str, str] = {}
    parts: list[str] = []
    position = 0
    while token := _TOKEN.match(mangled, position):
        position = token.end()
        text = token[0]
        if token["length"] and (identifier := _identifier_at(mangled, position, int(text))):
            position += len(identifier)
            text += identifier
            if identifier in placeholders or len(placeholders) < len(_PLACEHOLDERS):
                text = "1" + placeholders.setdefault(
                    identifier, _PLACEHOLDERS[len(placeholders) % len(_PLACEHOLDERS)]
                )
        parts.append(text)
    return "".join(parts), {placeholder: identifier for identifier, placeholder in placeholders.items()}


def restore(demangled: str, identifiers: Mapping[str, str]) -> str:
    """Put the identifiers back for their placeholders."""
    readable: dict[int, str] = {
        ord(placeholder): "(anonymous namespace)" if name.startswith(_ANONYMOUS_NAMESPACE) else name
        for placeholder, name in identifiers.items()
    }
    return demangled.translate(readable)


def _identifier_at(mangled: str, position: int, length: int) -> str | None:
    """Read an identifier; None where the number was the value of an enumerator, which an ``E`` follows."""
    identifier = mangled[position : position + length]
    is_value = identifier.startswith("E")
    return identifier if _IDENTIFIER.fullmatch(identifier) and not is_value else None
