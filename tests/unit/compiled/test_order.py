from guardrail.compiled.order import worst_first
from helpers.compiled_kernels import foreign_kernel, kernel


def test_spills_come_before_stack_before_blocks_before_registers():
    spilled = kernel("spilled", spill_store_bytes=4, spill_load_bytes=4)
    stacked = kernel("stacked", stack_bytes=16)
    crowded = kernel("crowded", registers=128)
    thirsty = foreign_kernel("thirsty", registers=255)
    modest = foreign_kernel("modest", registers=16)
    mixed = [modest, crowded, stacked, thirsty, spilled]
    assert [k.name for k in worst_first(mixed)] == ["spilled", "stacked", "crowded", "thirsty", "modest"]


def test_equals_are_ordered_by_name_and_architecture():
    kernels = [kernel("b"), kernel("a", arch="sm_90a"), kernel("a")]
    ordered = [(k.name, k.arch) for k in worst_first(kernels)]
    assert ordered == [("a", "sm_90"), ("a", "sm_90a"), ("b", "sm_90")]
