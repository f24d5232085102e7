from pathlib import Path

import pytest

from guardrail.adapters.resource_targets import Launch, read_target
from guardrail.compiled.saved import join_json, to_json
from guardrail.errors import MeasurementError, NothingReadError, UsageError

DATA = Path(__file__).parents[2] / "data" / "resources"
LIBRARY = str(DATA / "two_kernels.so")


def test_what_a_file_is_decides_how_it_is_read(tmp_path):
    renamed = tmp_path / "kernels.bin"
    renamed.write_bytes((DATA / "two_kernels.sm_90.cubin").read_bytes())
    assert [kernel.arch for kernel in read_target(str(renamed), None, None)] == ["sm_90", "sm_90"]


def test_an_architecture_selects_and_a_base_one_covers_its_feature_sets(tmp_path):
    assert [kernel.arch for kernel in read_target(LIBRARY, "sm_75", None)] == ["sm_75", "sm_75"]
    saved = tmp_path / "saved.json"
    text = join_json(map(to_json, read_target(LIBRARY, None, None)))
    saved.write_text(text.replace("sm_90", "sm_90a"))
    assert [kernel.arch for kernel in read_target(str(saved), "sm_90", None)] == ["sm_90a", "sm_90a"]


def test_an_architecture_that_is_not_there_is_named_with_those_that_are():
    with pytest.raises(NothingReadError, match="no kernel for sm_86; it has sm_120, sm_75, sm_90"):
        list(read_target(LIBRARY, "sm_86", None))


def test_a_saved_report_is_a_target(tmp_path):
    saved = tmp_path / "saved.json"
    kernels = list(read_target(LIBRARY, None, None))
    saved.write_text(join_json(map(to_json, kernels)))
    assert [to_json(k) for k in read_target(str(saved), None, None)] == [to_json(k) for k in kernels]


def test_launch_size_gives_blocks_per_sm():
    kernels = list(read_target(LIBRARY, "sm_90", Launch(threads=256, dynamic_shared_bytes=100_000)))
    assert [(kernel.blocks_per_sm, kernel.limited_by) for kernel in kernels] == [(2, "shared memory")] * 2


def test_a_launch_size_that_metadata_gives_is_not_overruled():
    with pytest.raises(UsageError, match="comes with its launch size of 128 threads"):
        list(read_target(str(DATA / "triton_cache"), None, Launch(64, 0)))


@pytest.mark.parametrize("target", ["missing.so", "missing.cu", "folder/missing"])
def test_a_missing_file_is_a_usage_error(target):
    with pytest.raises(UsageError, match="no such file"):
        list(read_target(target, None, None))


def test_a_file_of_another_kind_is_a_usage_error():
    with pytest.raises(UsageError, match="not something to read kernels from"):
        list(read_target(__file__, None, None))


@pytest.mark.parametrize("name", ["empty.cubin", "empty.so"])
def test_a_binary_that_is_no_elf_file_could_not_be_measured(tmp_path, name):
    (tmp_path / name).touch()
    with pytest.raises(MeasurementError, match="not an ELF file"):
        list(read_target(str(tmp_path / name), None, None))


def test_an_unknown_family_is_a_usage_error():
    with pytest.raises(UsageError, match="no family 'nothing'"):
        list(read_target("nothing.kernel", None, None))


def test_a_kernel_without_builds_checks_nothing(monkeypatch):
    monkeypatch.syspath_prepend(str(DATA))
    with pytest.raises(NothingReadError, match="declares no build"):
        list(read_target("toy_family:FAMILY.idle", None, None))
