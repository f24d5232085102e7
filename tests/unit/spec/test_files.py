"""The text of a user's file."""

from pathlib import Path

from guardrail.spec.files import read_text


def test_text_comes_without_a_byte_order_mark_and_otherwise_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "f.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: \xc3\xa9\r\n\tb\n")
    assert read_text(path, "") == "a: é\r\n\tb\n"
