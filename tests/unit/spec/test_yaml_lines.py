"""Plain data with lines, and refusals with one fault."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from guardrail.spec.faults import ConfigurationError, Fault
from guardrail.spec.yaml_lines import MAX_NODES, Document, read_yaml

EXPECTED = "expected a test"


def _read(folder: Path, content: bytes | str) -> Document:
    path = folder / "f.yaml"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_yaml(path, EXPECTED)


def _fault(folder: Path, content: bytes | str) -> Fault:
    with pytest.raises(ConfigurationError) as caught:
        _read(folder, content)
    (fault,) = caught.value.faults
    assert fault.file == str(folder / "f.yaml")
    return fault


TEXT = """\
version: 1
on: yes
guards:
  - id: a
    date: 2026-12-03
    require:
      x: {floor: 1e-6,
          ceiling: "2"}
  -
    id: >
      folded
      text
    bounds: [1,
      2]
"""


def test_data_is_plain(tmp_path: Path) -> None:
    assert _read(tmp_path, TEXT).data == {
        "version": 1,
        "on": "yes",
        "guards": [
            {"id": "a", "date": "2026-12-03", "require": {"x": {"floor": 1e-6, "ceiling": "2"}}},
            {"id": "folded text\n", "bounds": [1, 2]},
        ],
    }


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ((), 1),
        (("version",), 1),
        (("guards",), 3),
        (("guards", 0), 4),
        (("guards", 0, "date"), 5),
        (("guards", 0, "require", "x", "floor"), 7),
        (("guards", 0, "require", "x", "ceiling"), 8),
        (("guards", 1), 10),
        (("guards", 1, "id"), 10),
        (("guards", 1, "bounds"), 13),
        (("guards", 1, "bounds", 1), 14),
        (("guards", 0, "require", "missing", "floor"), 6),
        (("guards", 9), 3),
    ],
)
def test_every_key_and_item_has_its_line(tmp_path: Path, path: tuple[str | int, ...], line: int) -> None:
    assert _read(tmp_path, TEXT).line(*path) == line


def test_an_alias_repeats_values_and_points_into_the_original(tmp_path: Path) -> None:
    document = _read(tmp_path, "a: &it\n  x: 1\nb: *it\n")
    assert document.data == {"a": {"x": 1}, "b": {"x": 1}}
    assert document.line("b") == 3
    assert document.line("b", "x") == 2


def test_a_byte_order_mark_and_carriage_returns_are_accepted(tmp_path: Path) -> None:
    document = _read(tmp_path, b"\xef\xbb\xbfa: 1\r\nb: 2\r\n")
    assert document.data == {"a": 1, "b": 2}
    assert document.line("b") == 2


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        (b"", 1, "the file is empty; expected a test"),
        (b"# only a comment\n---\n", 3, "the file is empty; expected a test"),
        (b"- 1\n", 1, "the file must hold 'key: value' lines; expected a test"),
        (b"word", 1, "the file must hold 'key: value' lines; expected a test"),
        (b"a: 1\nb: \xff\n", 2, "the file is not UTF-8 text; save it as UTF-8"),
        (b"\x7fELF\x02\x01", 1, "the file holds the control character '\\x7f'; it must be text"),
        ("a: 1\nb: \u202ex", 2, "the file holds the control character '\\u202e'; it must be text"),
        (b'a: 1\nb: "\\e[2J"', 2, "the text holds the control character '\\x1b'"),
        (b'a: "\\ud800"', 1, "the text holds the control character '\\ud800'"),
        (b"a: 1\nb: 2\na: 3\n", 3, "the key 'a' is given twice, first on line 1"),
        (b"a: 1\n---\nb: 2\n", 2, "a second YAML document begins here ('---'); keep to one"),
        (b"a:\n\t- b\n", 2, "a tab is used for indentation; indent with spaces"),
        (b"a: 1\nb: 'x\n\nc: 2\n", 2, "a quotation mark is never closed"),
        (b"a: 1\nb: [1, 2\nc: 3\n", 2, "a '[' is never closed, or a ',' is missing after it"),
        (b"a: {x: 1\nb: 2\n", 1, "a '{' is never closed, or a ',' is missing after it"),
        (
            b"a:\n  b: 1\n c: 2\n",
            3,
            "this does not fit the lines above; check the indentation, or put the whole text in quotes",
        ),
        (
            b"title: q6_K: covered\n",
            1,
            "a ':' stands where no key can be; "
            "check the indentation and the line above, or put the text in quotes",
        ),
        (b"a: 1\nb\n", 2, "a line is neither 'key: value' nor '- item'"),
        (b"a: @b\n", 1, "a value may not begin with this character; put the text in quotes"),
        (b'a: "C:\\q"\n', 1, "a '\\' in double quotes begins no escape; use single quotes"),
        (b"1: x\n", 1, "a key must be text; write it in quotes: '1'"),
        (b"true: x\n", 1, "a key must be text; write it in quotes: 'true'"),
        (b"?\n: x\n", 1, "a key is empty"),
        (b"'': x\n", 1, "a key is empty"),
        (b"~: x\n", 1, "a key must be text; write it in quotes: '~'"),
        (b"? [a]\n: x\n", 1, "a key must be text, not a list, a mapping or an alias"),
        (b"a: &x b\n*x : c\n", 2, "a key must be text, not a list, a mapping or an alias"),
        (
            b"a: !!python/object/apply:os.system [x]",
            1,
            "the tag '!!python/object/apply:os.system' is not read",
        ),
        (b"a: 1\nb: !mine x", 2, "the tag '!mine' is not read; write the plain value"),
        (b"a: 1\nb: &x [1, *x]", 2, "'*x' refers to a part of the file that contains it"),
        (b"a: *x", 1, "'*x' refers to no '&x' above it"),
        (b"a: " + b"[" * 5000, 1, "values are nested more than 32 deep"),
        (b'a: "\\UFFFFFFFF"', 1, "this is not valid YAML"),
        (b"%YAML " + b"9" * 5000 + b".1\n---\na: 1", 1, "this is not valid YAML"),
    ],
)
def test_refuses_with_one_fault_and_its_line(
    tmp_path: Path, content: bytes | str, line: int, message: str
) -> None:
    fault = _fault(tmp_path, content)
    assert fault.message.startswith(message)
    assert fault.line == line


def test_refuses_an_alias_bomb_where_it_exceeds_the_limit(tmp_path: Path) -> None:
    bomb = "a0: &a0 [" + ", ".join("x" * 10) + "]\n"
    for level in range(1, 9):
        bomb += f"a{level}: &a{level} [" + ", ".join([f"*a{level - 1}"] * 10) + "]\n"
    fault = _fault(tmp_path, bomb)
    assert fault.message == "the file holds more than 100,000 values with its aliases expanded"
    assert fault.line == 5


def test_counts_every_expanded_value(tmp_path: Path) -> None:
    item = "a: &a [" + ", ".join("x" * 99) + "]\n"
    # The mapping, two keys, the anchored list of 100 and the list of its aliases.
    aliases = (MAX_NODES - 104) // 100
    assert len(_read(tmp_path, item + f"b: [{', '.join(['*a'] * aliases)}]").data["b"] or ()) == aliases
    assert "more than" in _fault(tmp_path, item + f"b: [{', '.join(['*a'] * (aliases + 1))}]").message


def test_refuses_a_file_over_one_mebibyte(tmp_path: Path) -> None:
    assert _read(tmp_path, b"a: 1\n#" + b"x" * ((1 << 20) - 6)).data == {"a": 1}
    fault = _fault(tmp_path, b"a: 1\n#" + b"x" * ((1 << 20) - 5))
    assert fault.message == "the file is larger than 1 MiB; a file written by hand is not"


def test_names_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as missing:
        read_yaml(tmp_path / "none.yaml", EXPECTED)
    assert str(missing.value) == f"{tmp_path}/none.yaml: there is no such file; expected a test"
    with pytest.raises(ConfigurationError) as folder:
        read_yaml(tmp_path, EXPECTED)
    assert str(folder.value) == f"{tmp_path}: this is a folder, not a file; expected a test"


def test_says_why_a_file_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    path = tmp_path / "f.yaml"
    path.touch()
    monkeypatch.setattr(Path, "open", forbidden)
    with pytest.raises(ConfigurationError) as caught:
        read_yaml(path, EXPECTED)
    assert caught.value.faults[0].message == "the file cannot be read: Permission denied"


PIECES = st.lists(
    st.sampled_from(
        [
            *"abc019 \n\t:-?[]{},&*!|>'\"%@`#.~\\=<",
            "  ",
            "\n  ",
            ": ",
            "- ",
            "&a ",
            "*a",
            "---",
            "...",
            "!!",
            "\\U",
            *(
                "0x",
                "e9",
                "\r",
                "\ufeff",
                "\x85",
                "\u2028",
                "é",
                "null",
                "%YAML ",
                "%TAG ! !\n",
                "? ",
                "<<: *a",
            ),
        ]
    ),
    max_size=60,
).map("".join)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.one_of(st.binary(max_size=200), st.text(max_size=100), PIECES))
@example(b"a: 1\n\x00")
@example("%TAG !e! tag:\n---\n!e!%ff a")
def test_anything_is_read_or_refused(tmp_path: Path, content: bytes | str) -> None:
    raw = content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")
    try:
        document = _read(tmp_path, raw)
    except ConfigurationError as error:
        (fault,) = error.faults
        assert fault.line is None or 1 <= fault.line <= raw.count(b"\n") + raw.count(b"\r") + 1
    else:
        assert isinstance(document.data, dict)
