from helpers.compiled_kernels import foreign_kernel, kernel


def test_shared_memory_is_static_and_dynamic():
    assert kernel(static_shared_bytes=1024, dynamic_shared_bytes=4096).shared_bytes == 5120
    assert foreign_kernel(static_shared_bytes=1024).shared_bytes == 1024


def test_blocks_per_sm_need_launch_size_and_dynamic_shared_memory():
    known = kernel(registers=74)
    assert (known.blocks_per_sm, known.limited_by, known.theoretical_occupancy) == (3, "registers", 0.375)
    for missing in ({"threads": None}, {"dynamic_shared_bytes": None}, {"arch": "sm_70"}):
        assert kernel(registers=74, **missing).blocks_per_sm is None


def test_launch_size_can_be_added():
    launched = foreign_kernel(registers=74).launched_with(threads=128, dynamic_shared_bytes=100_000)
    assert (launched.blocks_per_sm, launched.limited_by) == (2, "shared memory")


def test_spills_add_up_where_both_are_known():
    assert kernel(spill_store_bytes=424, spill_load_bytes=428).spill_bytes == 852
    assert foreign_kernel().spill_bytes is None
