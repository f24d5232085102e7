"""Text from outside, made safe to show."""

import re

_ESCAPE_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-_])")

# Control characters act on a terminal and are illegal in XML; directional overrides make text read as what it
# is not; lone surrogates and noncharacters can be encoded in neither.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)


def printable(text: str) -> str:
    """Remove terminal sequences, control characters and directional overrides; keep tabs and line ends."""
    return _UNPRINTABLE.sub("", _ESCAPE_SEQUENCE.sub("", text.replace("\r\n", "\n")))


def one_line(text: str) -> str:
    """Make text printable and put it on one line, with single spaces."""
    return " ".join(printable(text).split())


def shortened(text: str, length: int) -> str:
    """Cut text to a number of characters, the last an ellipsis where something was left out."""
    return text if len(text) <= length else text[: length - 1] + "…"
