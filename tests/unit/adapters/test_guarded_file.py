from pathlib import Path

import pytest

from guardrail.adapters.guarded_file import read_kernels
from guardrail.compiled.file_subject import FileSubject
from guardrail.errors import NothingReadError

CUBIN = Path(__file__).parents[2] / "data" / "resources" / "two_kernels.sm_90.cubin"


def read(kernel=None, threads=None, dynamic_shared=None):
    return read_kernels(FileSubject(str(CUBIN), ""), "sm_90", kernel, threads, dynamic_shared)


def test_every_kernel_of_the_file_is_read():
    assert len(read()) == 2
    assert {kernel.threads for kernel in read()} == {None}


def test_a_pattern_picks_kernels_and_a_launch_size_is_theirs():
    name = read()[0].name
    (kernel,) = read(kernel=name.partition("(")[0], threads=128)
    assert (kernel.name, kernel.threads, kernel.dynamic_shared_bytes) == (name, 128, 0)


def test_a_pattern_that_matches_nothing_is_an_error():
    with pytest.raises(NothingReadError, match=r"none of its 2 kernels for sm_90 matches 'attention'$"):
        read(kernel="attention")
