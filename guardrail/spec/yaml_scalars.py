"""What an unquoted word in a user's file means: YAML 1.2's core schema, with fewer surprises."""

import re

Scalar = None | bool | int | float | str

MAX_NUMBER_LENGTH = 40
"""Longer digit strings stay text: no bound needs them, and Python refuses to print some of them."""

_CONSTANTS: dict[str, Scalar] = {
    "": None,
    "~": None,
    **dict.fromkeys(("null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
}
# A leading zero means octal to YAML 1.1, decimal to YAML 1.2 and nothing in a commit hash: it stays text.
_DECIMAL = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_BASED = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+\.[0-9]*|[0-9]+(?=[eE]))([eE][-+]?[0-9]+)?")


def resolve(text: str) -> Scalar:
    """Read an unquoted word as null, true, false, a number or, failing all of these, text.

    Dates, ``yes``, ``on``, ``1_000`` and ``12:30`` are text.

    Args:
        text: The word as it stands in the file.

    Returns:
        The value it stands for.
    """
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if len(text) > MAX_NUMBER_LENGTH:
        return text
    if _DECIMAL.fullmatch(text):
        return int(text)
    if _BASED.fullmatch(text):
        return int(text, base=0)
    if _FLOAT.fullmatch(text):
        return float(text)
    return text
