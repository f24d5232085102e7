import pytest

from guardrail.reporters.text import one_line, printable, shortened


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]8;;https://example.org\x07link\x1b]8;;\x07", "link"),
        ("\x1b]0;title\x1b\\shown", "shown"),
        ("a\x00b\x07c\x7fd\x9be", "abcde"),
        ("user\u202enimda", "usernimda"),
        ("a\r\nb\rc\td", "a\nbc\td"),
        ("half \ud800 pair, \ufffe", "half  pair, "),
        ("größer 速度 µs", "größer 速度 µs"),
    ],
)
def test_printable_removes_what_acts_on_a_terminal_and_keeps_text(text: str, expected: str) -> None:
    assert printable(text) == expected


def test_one_line_joins_lines_and_runs_of_blanks() -> None:
    assert one_line("  a\n\n b\t c  ") == "a b c"


@pytest.mark.parametrize(("text", "expected"), [("abcd", "abcd"), ("abcde", "abc…")])
def test_shortened_never_exceeds_its_length(text: str, expected: str) -> None:
    assert shortened(text, 4) == expected
