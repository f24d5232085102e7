"""The YAML parser's complaints in plain words."""

import re

from yaml.error import Mark, MarkedYAMLError

_CONTEXT = "context"
_PROBLEM = "problem"

# What the parser says, what a user needs to hear, and which of the parser's two places is the helpful one.
_TABLE: tuple[tuple[re.Pattern[str], str, str], ...] = tuple(
    (re.compile(pattern), sentence, place)
    for pattern, sentence, place in (
        (r"found character '\\t'", "a tab is used for indentation; indent with spaces", _PROBLEM),
        (r"found character", "a value may not begin with this character; put the text in quotes", _PROBLEM),
        (
            r"mapping values are not allowed",
            "a ':' stands where no key can be; check the indentation and the line above, "
            "or put the text in quotes",
            _PROBLEM,
        ),
        (r"could not find expected ':'", "a line is neither 'key: value' nor '- item'", _CONTEXT),
        (
            r"expected <block end>",
            "this does not fit the lines above; check the indentation, or put the whole text in quotes",
            _PROBLEM,
        ),
        (r"found unexpected end of stream", "a quotation mark is never closed", _CONTEXT),
        (r"found unexpected document separator", "a quotation mark is never closed", _CONTEXT),
        (r"expected ',' or '\]'", "a '[' is never closed, or a ',' is missing after it", _CONTEXT),
        (r"expected ',' or '\}'", "a '{' is never closed, or a ',' is missing after it", _CONTEXT),
        (r"sequence entries are not allowed", "a '-' stands where no list can begin", _PROBLEM),
        (
            r"unknown escape character",
            "a '\\' in double quotes begins no escape; use single quotes",
            _PROBLEM,
        ),
        (r"undefined tag handle|tag", "tags ('!...') are not read; write the plain value", _PROBLEM),
    )
)


def explain(error: MarkedYAMLError) -> tuple[str, int | None]:
    """Say in one sentence what the parser could not read.

    Args:
        error: The scanner's or parser's exception.

    Returns:
        The sentence, and the line (from 1) to look at where the parser knows one.
    """
    problem = error.problem or ""
    sentence, place = next(
        ((sentence, place) for pattern, sentence, place in _TABLE if pattern.search(problem)),
        ("this is not valid YAML", _PROBLEM),
    )
    marks: tuple[Mark | None, ...] = (error.problem_mark, error.context_mark)
    if place == _CONTEXT:
        marks = marks[::-1]
    return sentence, next((mark.line + 1 for mark in marks if mark is not None), None)
