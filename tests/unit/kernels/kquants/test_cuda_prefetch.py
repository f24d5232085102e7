from guardrail.kernels.kquants.cuda_prefetch import blocks_per_iteration, can_prefetch


def test_four_warps_take_16_blocks_an_iteration() -> None:
    assert blocks_per_iteration(warps=4, lanes_per_block=8) == 16


def test_only_rows_longer_than_two_iterations_have_anything_to_prefetch() -> None:
    qwen = {3584: 14, 5120: 20, 13_824: 54, 18_944: 74}
    assert [columns for columns, row_blocks in qwen.items() if can_prefetch(row_blocks, 16)] == [
        13_824,
        18_944,
    ]
    assert [can_prefetch(row_blocks, 16) for row_blocks in (32, 33)] == [False, True]
