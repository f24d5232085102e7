import pytest

from guardrail.cli.table import print_facts, print_line, print_table


def test_rows_are_whole_lines_where_the_output_is_no_terminal(capsys):
    long = "word " * 200 + "end"
    print_table(("id", "what"), [("a", long), ("bb", "[red]as it is[/red] \\[")])
    header, first, second = capsys.readouterr().out.splitlines()
    assert header.split() == ["id", "what"]
    assert first.split(maxsplit=1) == ["a", long]
    assert second == "bb  [red]as it is[/red] \\["


@pytest.fixture
def terminal(monkeypatch):
    def narrow(columns):
        for name, value in {"TTY_COMPATIBLE": "1", "NO_COLOR": "1", "COLUMNS": str(columns)}.items():
            monkeypatch.setenv(name, value)

    return narrow


ROWS = [
    ("int4_attention.reduce_segments", "kernel", "starved-of-registers, crowded-block"),
    ("q6k.quantize", "operation", "by-reciprocal, unwritten-group"),
    ("q6k.mmvq_v2", "kernel", ""),
]


def test_prose_wraps_beside_names_that_leave_it_room(terminal, capsys):
    terminal(74)
    print_table(("subject", "kind", "controls"), ROWS)
    assert capsys.readouterr().out.splitlines() == [
        "subject                         kind       controls",
        "int4_attention.reduce_segments  kernel     starved-of-registers,",
        "                                           crowded-block",
        "q6k.quantize                    operation  by-reciprocal, unwritten-group",
        "q6k.mmvq_v2                     kernel",
    ]


@pytest.mark.parametrize(
    ("columns", "names"),
    [
        (60, ["subject                         kind", "q6k.quantize                    operation"]),
        (40, ["subject  kind", "q6k.quantize  operation"]),
    ],
)
def test_prose_goes_below_names_that_leave_it_none(terminal, capsys, columns, names):
    terminal(columns)
    print_table(("subject", "kind", "controls"), ROWS)
    lines = capsys.readouterr().out.splitlines()
    assert [lines[0], lines[4]] == names
    assert lines[1] == "    controls"
    assert lines[3:6:2] == [
        "    starved-of-registers, crowded-block",
        "    by-reciprocal, unwritten-group",
    ]


def test_facts_go_on_where_they_began(terminal, capsys):
    terminal(30)
    print_facts([("what", "two words and two more of them"), ("arms", "A: one\nB: two")])
    assert capsys.readouterr().out.splitlines() == [
        "what  two words and two more",
        "      of them",
        "arms  A: one",
        "      B: two",
    ]


def test_a_line_breaks_between_words_of_a_terminal_alone(terminal, capsys):
    print_line("one two three")
    terminal(8)
    print_line("one two three")
    assert capsys.readouterr().out == "one two three\none two\nthree\n"
