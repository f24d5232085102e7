import pytest

from guardrail.compiled.architectures import (
    ARCHITECTURES,
    base_arch,
    compute_capability,
    find_limits,
    require_arch,
)
from guardrail.errors import ExitCode, UsageError


@pytest.mark.parametrize(
    ("arch", "warps", "blocks", "shared_kib", "block_kib"),
    [
        ("sm_75", 32, 16, 64, 64),
        ("sm_80", 64, 32, 164, 163),
        ("sm_86", 48, 16, 100, 99),
        ("sm_87", 48, 16, 164, 163),
        ("sm_89", 48, 24, 100, 99),
        ("sm_90", 64, 32, 228, 227),
        ("sm_100", 64, 32, 228, 227),
        ("sm_103", 64, 32, 228, 227),
        ("sm_110", 48, 24, 228, 227),
        ("sm_120", 48, 24, 100, 99),
        ("sm_121", 48, 24, 100, 99),
    ],
)
def test_the_table_holds_the_programming_guides_figures(arch, warps, blocks, shared_kib, block_kib):
    limits = ARCHITECTURES[arch]
    assert (limits.warps_per_sm, limits.blocks_per_sm) == (warps, blocks)
    assert (limits.shared_per_sm, limits.shared_per_block) == (shared_kib * 1024, block_kib * 1024)
    assert limits.registers_per_sm == 65536
    assert limits.registers_per_thread == 255


def test_only_turing_reserves_no_shared_memory():
    unreserved = [arch for arch, limits in ARCHITECTURES.items() if limits.reserved_shared_per_block == 0]
    assert unreserved == ["sm_75"]


def test_a_feature_set_suffix_names_the_same_limits():
    assert find_limits("sm_90a") is ARCHITECTURES["sm_90"]
    assert find_limits("sm_120f") is ARCHITECTURES["sm_120"]
    assert base_arch("sm_100a") == "sm_100"
    assert compute_capability("sm_90a") == 90


@pytest.mark.parametrize("arch", ["sm_91", "sm_9", "90", "sm_90b", "compute_90", ""])
def test_an_unknown_architecture_is_a_usage_error_that_lists_the_known(arch):
    with pytest.raises(UsageError, match=r"sm_75, sm_80, .*sm_121") as raised:
        require_arch(arch)
    assert raised.value.exit_code == ExitCode.USAGE
