from guardrail.cli.table import print_table


def test_rows_are_whole_lines_where_the_output_is_no_terminal(capsys):
    long = "word " * 200 + "end"
    print_table(("id", "what"), [("a", long), ("bb", "[red]as it is[/red] \\[")])
    header, first, second = capsys.readouterr().out.splitlines()
    assert header.split() == ["id", "what"]
    assert first.split(maxsplit=1) == ["a", long]
    assert second.rstrip() == "bb  [red]as it is[/red] \\["
