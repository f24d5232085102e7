from enum import Enum
from types import SimpleNamespace
from typing import Any

import pytest

from guardrail.adapters.vllm import compat


class Mode(Enum):
    FULL = True
    PIECEWISE = False

    def has_full_cudagraphs(self) -> bool:
        return self.value


def config(sizes: list[int], depth: int | None, v2: bool = False, mode: Mode = Mode.FULL) -> Any:
    speculative = None if depth is None else SimpleNamespace(num_speculative_tokens=depth)
    compilation = SimpleNamespace(
        cudagraph_mode=mode, cudagraph_capture_sizes=sizes, max_cudagraph_capture_size=max(sizes, default=0)
    )
    return SimpleNamespace(
        compilation_config=compilation, speculative_config=speculative, use_v2_model_runner=v2
    )


@pytest.mark.parametrize(
    ("made", "sizes"),
    [
        (config([1, 2, 4, 8, 16, 24], 7), (8, 16, 24)),
        (config([1, 2, 4, 8, 16, 24], 4), (5, 10, 20)),
        (config([1, 2, 4], 7), (8,)),
        (config([4, 1, 2], 7, v2=True), (1, 2, 4)),
        (config([1, 2, 4], None), (1, 2, 4)),
        (config([1, 2, 4], 7, mode=Mode.PIECEWISE), ()),
        (config([], 7), (8,)),
    ],
)
def test_sizes_are_those_that_the_engine_will_capture(made: Any, sizes: tuple[int, ...]) -> None:
    assert compat.captured_sizes(made) == sizes


def test_a_draft_models_configuration_leads_to_the_target() -> None:
    target = SimpleNamespace(target_model_config="target", target_parallel_config="two ranks")
    draft = SimpleNamespace(model_config="draft", parallel_config="one rank", speculative_config=target)
    assert compat.target_of(draft) == ("target", "two ranks")
    draft.speculative_config = None
    assert compat.target_of(draft) == ("draft", "one rank")
