import pytest

from guardrail.adapters.vllm_engine.prompts import drawn, fresh_seed, read_prompts
from guardrail.errors import MeasurementError


def test_drawn_prompts_are_those_of_their_seed_and_differ_from_each_other():
    prompts = drawn(4, 8, 100, seed=5)
    assert prompts == drawn(4, 8, 100, seed=5)
    assert len({tuple(prompt) for prompt in prompts}) == 4
    assert {len(prompt) for prompt in prompts} == {8}
    assert all(0 <= token < 100 for prompt in prompts for token in prompt)


def test_no_two_runs_draw_the_same_prompts():
    assert len({fresh_seed() for _ in range(4)}) == 4


def test_prompts_are_read_a_line_each(tmp_path):
    (file := tmp_path / "p.jsonl").write_text('"what is it?"\n\n[1, 2, 3]\n')
    assert read_prompts(file) == ["what is it?", [1, 2, 3]]


@pytest.mark.parametrize("line", ["plain words", "[1, -2]", "[]", '""', "[true]", '{"prompt": "x"}'])
def test_a_line_that_is_no_prompt_is_named(tmp_path, line):
    (file := tmp_path / "p.jsonl").write_text(f'"x"\n{line}\n')
    with pytest.raises(MeasurementError, match=r"p\.jsonl:2: expected a prompt"):
        read_prompts(file)


def test_a_file_without_prompts_is_an_error(tmp_path):
    (file := tmp_path / "p.jsonl").write_text("\n")
    with pytest.raises(MeasurementError, match="expected one prompt a line, and there is none"):
        read_prompts(file)
    with pytest.raises(MeasurementError, match="cannot be read"):
        read_prompts(tmp_path / "gone")
