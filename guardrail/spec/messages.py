"""Pydantic's findings in plain words."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from guardrail.spec.anchors import COMMIT_PATTERN, DATE_PATTERN, EVIDENCE_PATTERN, SLACK_PATTERN
from guardrail.spec.fields import SLUG_PATTERN
from guardrail.spec.suggest import shortened
from guardrail.spec.yaml_lines import Plain
from guardrail.spec.yaml_scalars import MAX_NUMBER_LENGTH

_NOUNS: Mapping[str, str] = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "set_type": "a list",
    "frozen_set_type": "a list",
    "dict_type": "'name: value' lines",
    "mapping_type": "'name: value' lines",
    "model_type": "'name: value' lines",
    "model_attributes_type": "'name: value' lines",
}
"""What a value of the wrong kind should have been."""

_PATTERNS: Mapping[str, str] = {
    SLUG_PATTERN: "lower-case letters and digits, joined by single '.', '_' or '-'",
    SLACK_PATTERN: "a percentage below 100, such as 2%",
    COMMIT_PATTERN: "a git commit: 7 hexadecimal digits or more",
    DATE_PATTERN: "a day, such as 2026-12-03",
    EVIDENCE_PATTERN: "'sha256:' and 64 hexadecimal digits",
}

_SENTENCES: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "finite_number": lambda context: "must be a finite number",
    "literal_error": lambda context: f"must be {context['expected']}",
    "enum": lambda context: f"must be {context['expected']}",
    "string_pattern_mismatch": lambda context: (
        f"must be {_PATTERNS.get(context['pattern'], 'text that matches ' + context['pattern'])}"
    ),
    "string_too_short": lambda context: _at_least(context["min_length"], "character"),
    "string_too_long": lambda context: f"must have at most {context['max_length']} characters",
    "too_short": lambda context: _at_least(context["min_length"], "entry"),
    "too_long": lambda context: f"must have at most {context['max_length']} entries",
    "greater_than": lambda context: f"must be greater than {context['gt']}",
    "greater_than_equal": lambda context: f"must be at least {context['ge']}",
    "less_than": lambda context: f"must be less than {context['lt']}",
    "less_than_equal": lambda context: f"must be at most {context['le']}",
    "multiple_of": lambda context: f"must be a multiple of {context['multiple_of']}",
    "value_error": lambda context: str(context["error"]),
    "assertion_error": lambda context: str(context["error"]),
}


_TOO_LONG = re.compile(rf"[-+]?[0-9.]{{{MAX_NUMBER_LENGTH},}}")


def is_wrong_kind(code: str) -> bool:
    """Tell whether an error says that a value is of another kind than asked for."""
    return code in _NOUNS


def wrong_kind(codes: Sequence[str], value: Plain) -> str:
    """Say what a value should have been and what it is.

    Args:
        codes: Pydantic's type of error for each kind that would have been accepted.
        value: What the file holds.

    Returns:
        ``"must be a number, not the text '5'"``.
    """
    nouns = list(dict.fromkeys(_NOUNS[code] for code in codes))
    if "a number" in nouns and "a whole number" in nouns:
        nouns.remove("a whole number")
    expected = " or ".join(nouns)
    if nouns == ["text"] and isinstance(value, bool | int | float):
        return "must be text; put it in quotes"
    if "a number" in nouns and isinstance(value, str) and _TOO_LONG.fullmatch(value):
        return f"must be a number of at most {MAX_NUMBER_LENGTH} digits"
    return f"must be {expected}, not {shown(value)}"


def sentence(code: str, context: Mapping[str, Any], message: str) -> str:
    """Translate one of pydantic's errors that is not about a value's kind.

    Args:
        code: Pydantic's type of error.
        context: What pydantic says beside it.
        message: Pydantic's own sentence, for a type that the table does not know.

    Returns:
        A sentence without its subject: ``"must be at least 1"``.
    """
    if code in _SENTENCES:
        return _SENTENCES[code](context)
    return re.sub(r"^[A-Z]\w* should", "must", message)


def shown(value: Plain) -> str:
    """Name a value of the file for the reader: ``the text '5'``, ``the number 5``, ``a list``."""
    if value is None:
        return "nothing"
    if isinstance(value, str):
        return f"the text {shortened(value)}"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, dict):
        return "'name: value' lines"
    return f"the number {value}"


def _at_least(count: int, what: str) -> str:
    return "must not be empty" if count == 1 else f"needs at least {count} of: {what}"
