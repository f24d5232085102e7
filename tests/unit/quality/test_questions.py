import pytest

from guardrail.errors import MeasurementError
from guardrail.quality.questions import Match, Question, accuracy, is_right, read_questions


@pytest.mark.parametrize(
    ("completion", "answer", "right"),
    [
        ("so it is 1,234.", "1234", True),
        ("first 5, then 7", "5", False),
        ("-0.5", "-.5", True),
        ("3.0000001", "3", True),
        ("3.001", "3", False),
        ("I do not know", "3", False),
        ("1000000.5", "1000000", True),
    ],
)
def test_the_last_number_is_the_answer(completion, answer, right):
    assert is_right(completion, answer, Match.NUMBER) is right


def test_a_text_is_the_answer_but_for_white_space():
    assert is_right(" Paris\n", "Paris", Match.TEXT)
    assert not is_right("paris", "Paris", Match.TEXT)


def test_the_share_has_its_exact_interval():
    questions = [Question("q", "1")] * 200
    found = accuracy(questions, ["1"] * 189 + ["2"] * 11, Match.NUMBER, 0.95)
    assert found.value == 0.945
    # Two engines at 0.945 and 0.955 of 200 questions are not told apart.
    assert found.interval == pytest.approx((0.9037, 0.9722), abs=1e-4)


def test_questions_are_read_a_line_each():
    text = '{"prompt": "1+1=", "answer": 2}\n\n{"prompt": "capital?", "answer": "Paris"}\n'
    assert read_questions(text, "q") == [Question("1+1=", "2"), Question("capital?", "Paris")]


@pytest.mark.parametrize(
    "line", ["2", "{", '{"prompt": "x"}', '{"prompt": "", "answer": 1}', '{"prompt": "x", "answer": null}']
)
def test_a_line_that_is_no_question_is_named(line):
    with pytest.raises(MeasurementError, match=r"q\.jsonl:2: expected"):
        read_questions('{"prompt": "x", "answer": 1}\n' + line, "q.jsonl")


def test_a_file_without_questions_is_an_error():
    with pytest.raises(MeasurementError, match="there is none"):
        read_questions("\n", "q.jsonl")
