from pathlib import Path

from guardrail.compiled.elf import parse_elf_header

DATA = Path(__file__).parents[2] / "data" / "resources"


def _header(name):
    return parse_elf_header((DATA / name).read_bytes()[:64])


def test_a_cubin_names_its_architecture_under_both_abi_versions():
    new, old = _header("two_kernels.sm_90.cubin"), _header("two_kernels.abi7.sm_86.cubin")
    assert (new.is_cubin, new.arch) == (True, "sm_90")
    assert (old.is_cubin, old.arch) == (True, "sm_86")


def test_a_host_library_is_no_cubin():
    header = _header("two_kernels.so")
    assert (header.is_cubin, header.arch) == (False, None)


def test_the_tables_end_where_the_whole_file_ends():
    for name in ("two_kernels.sm_90.cubin", "two_kernels.abi7.sm_86.cubin", "host_only.so"):
        assert _header(name).end_of_tables == (DATA / name).stat().st_size


def test_a_cut_header_still_says_that_more_should_follow():
    assert parse_elf_header((DATA / "two_kernels.sm_90.cubin").read_bytes()[:40]).end_of_tables == 64


def test_other_files_are_no_elf():
    assert parse_elf_header(b"") is None
    assert parse_elf_header(b"#include <cuda.h>\n" * 8) is None
