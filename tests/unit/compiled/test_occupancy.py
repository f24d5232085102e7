import pytest

from guardrail.compiled.architectures import ARCHITECTURES
from guardrail.compiled.occupancy import occupancy


@pytest.mark.parametrize(
    ("arch", "threads", "registers", "shared", "blocks", "limited_by"),
    [
        ("sm_90", 256, 74, 0, 3, "registers"),
        ("sm_90", 256, 40, 0, 6, "registers"),
        ("sm_90", 256, 32, 0, 8, "registers, warps"),
        ("sm_90", 384, 168, 213188, 1, "registers, shared memory"),  # ncu gives both a limit of 1
        ("sm_90", 256, 24, 0, 8, "warps"),
        ("sm_90", 128, 32, 48 * 1024, 4, "shared memory"),
        ("sm_90", 32, 16, 0, 32, "blocks"),
        ("sm_86", 128, 40, 0, 12, "registers, warps"),
        ("sm_86", 32, 16, 0, 16, "blocks"),
        ("sm_86", 256, 32, 49 * 1024, 2, "shared memory"),
        ("sm_86", 256, 32, 49 * 1024 + 1, 1, "shared memory"),  # rounding to 128 bytes costs a block
        ("sm_75", 256, 32, 32 * 1024, 2, "shared memory"),  # nothing is reserved
        ("sm_80", 1024, 65, 0, 0, "registers"),  # 72 registers x 32 warps do not fit
        ("sm_90", 128, 255, 227 * 1024, 1, "shared memory"),
        ("sm_90", 128, 32, 227 * 1024 + 1, 0, "shared memory"),
    ],
)
def test_blocks_per_sm_and_what_limits_them(arch, threads, registers, shared, blocks, limited_by):
    found = occupancy(ARCHITECTURES[arch], threads=threads, registers=registers, shared_bytes=shared)
    assert (found.blocks_per_sm, found.limited_by) == (blocks, limited_by)


def test_every_limit_is_given():
    found = occupancy(ARCHITECTURES["sm_90"], threads=128, registers=65, shared_bytes=10_000)
    assert found.blocks_by == {"registers": 7, "warps": 16, "shared memory": 20, "blocks": 32}


def test_theoretical_occupancy_counts_whole_warps():
    found = occupancy(ARCHITECTURES["sm_90"], threads=33, registers=16, shared_bytes=0)
    assert found.blocks_per_sm == 32
    assert found.theoretical == 1.0
    assert occupancy(ARCHITECTURES["sm_90"], threads=256, registers=74, shared_bytes=0).theoretical == 0.375


def test_too_many_threads_cannot_be_launched():
    found = occupancy(ARCHITECTURES["sm_90"], threads=1025, registers=16, shared_bytes=0)
    assert (found.blocks_per_sm, found.limited_by) == (0, "warps")
