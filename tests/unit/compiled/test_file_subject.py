"""Files as subjects."""

from pathlib import Path

from guardrail.compiled.file_subject import FileSubject


def digest(path: Path) -> str:
    return FileSubject.read(path).sha256


def test_a_cuda_source_changes_with_what_it_includes(tmp_path):
    source = tmp_path / "kernel.cu"
    source.write_text('#include <cuda.h>\n#include "a.cuh"\n')
    (tmp_path / "a.cuh").write_text('  # include "b.cuh"\n#include "a.cuh"\n')
    (tmp_path / "b.cuh").write_text("one")
    before = digest(source)
    assert digest(source) == before

    (tmp_path / "b.cuh").write_text("two")

    assert digest(source) != before


def test_a_file_keeps_its_hash_in_another_folder(tmp_path):
    for folder in ("here", "there"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "lib.so").write_bytes(b"\x7fELF")
    assert digest(tmp_path / "here" / "lib.so") == digest(tmp_path / "there" / "lib.so")


def test_a_folder_changes_with_names_and_contents(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.cubin").write_bytes(b"1")
    before = digest(tmp_path)

    (tmp_path / "sub" / "a.cubin").rename(tmp_path / "sub" / "b.cubin")

    assert digest(tmp_path) != before


def test_a_folder_keeps_its_hash_when_python_imports_from_it(tmp_path):
    (tmp_path / "engine.py").write_text("PACE = 700\n")
    before = digest(tmp_path)

    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "engine.cpython-311.pyc").write_bytes(b"\0")

    assert digest(tmp_path) == before
