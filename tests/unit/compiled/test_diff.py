import pytest

from guardrail.compiled.diff import Change, compare
from helpers.compiled_kernels import foreign_kernel, kernel


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"registers": 40}, {"registers": 41}),
        ({"stack_bytes": 0}, {"stack_bytes": 8}),
        ({"spill_load_bytes": 0}, {"spill_load_bytes": 4}),
        ({"registers": 64, "dynamic_shared_bytes": 0}, {"registers": 64, "dynamic_shared_bytes": 100_000}),
        ({"registers": 74, "stack_bytes": 0}, {"registers": 40, "stack_bytes": 240}),
    ],
)
def test_more_registers_stack_or_spills_or_fewer_blocks_are_worse(before, after):
    change = Change(kernel(**before), kernel(**after))
    assert (change.is_worse, change.is_better) == (True, False)
    back = Change(kernel(**after), kernel(**before))
    assert back.is_better or back.is_worse


def test_fewer_registers_alone_are_better():
    change = Change(kernel(registers=64), kernel(registers=40))
    assert (change.is_worse, change.is_better) == (False, True)


def test_what_one_side_does_not_know_is_not_compared():
    change = Change(foreign_kernel(), kernel(spill_store_bytes=424, spill_load_bytes=424))
    assert (change.is_worse, change.is_better) == (False, False)


def test_kernels_are_paired_by_name_and_architecture():
    old = [kernel("a"), kernel("a", arch="sm_86"), kernel("gone")]
    new = [kernel("a", registers=33), kernel("a", arch="sm_86"), kernel("a", arch="sm_120")]
    found = compare(old, new)
    assert [(c.old.registers, c.new.registers, c.new.arch) for c in found.worse] == [(32, 33, "sm_90")]
    assert (found.unchanged, found.paired) == (1, 2)
    assert [(k.name, k.arch) for k in found.added] == [("a", "sm_120")]
    assert [(k.name, k.arch) for k in found.removed] == [("gone", "sm_90")]


def test_repeated_names_are_a_multiset_whose_equals_pair_first():
    old = [kernel(registers=r) for r in (16, 24, 32)]
    new = [kernel(registers=r) for r in (32, 40, 16)]
    found = compare(old, new)
    assert found.unchanged == 2
    assert [(c.old.registers, c.new.registers) for c in found.worse] == [(24, 40)]
    assert not found.added
    assert not found.removed


def test_the_surplus_of_a_repeated_name_is_added_or_removed():
    assert len(compare([kernel()], [kernel(), kernel(), kernel()]).added) == 2
    assert len(compare([kernel(), kernel()], [kernel()]).removed) == 1


def test_the_largest_loss_comes_first():
    old = [kernel(name) for name in "abc"]
    new = [
        kernel("a", registers=40),
        kernel("b", spill_store_bytes=4, spill_load_bytes=4),
        kernel("c", stack_bytes=16),
    ]
    assert [change.new.name for change in compare(old, new).worse] == ["b", "c", "a"]
