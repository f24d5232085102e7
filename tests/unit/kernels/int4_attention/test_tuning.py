import pytest

from guardrail.kernels.int4_attention import tuning


@pytest.mark.parametrize(
    ("capability", "query_rows", "head_size", "rows"),
    [
        ((9, 0), 6, 256, 16),
        ((9, 0), 48, 256, 64),
        ((9, 0), 96, 256, 64),
        ((9, 0), 32, 128, 32),
        ((8, 6), 48, 256, 32),
        ((12, 0), 1, 96, 16),
    ],
)
def test_rows_cover_the_queries_as_far_as_registers_go(
    capability: tuple[int, int], query_rows: int, head_size: int, rows: int
) -> None:
    assert tuning.shape_of(capability, query_rows, head_size).rows == rows
