import hashlib
import math

import pytest
from pydantic import ValidationError

from guardrail.compiled.file_subject import FileSubject
from guardrail.probes.interface import Context
from guardrail.probes.quality import QualityGuard, QualityProbe
from guardrail.records.measurement import Unmeasured
from guardrail.records.verdict import Status
from guardrail.rules.bounds import judge
from guardrail.spec.guards import LoadedGuard
from helpers.engines import fake_engine, server_engine
from helpers.openai_server import Served, serving
from helpers.probing import by_metric, measured, sentences


def pinned(path, content):
    path.write_text(content)
    return {"file": path.name, "hash": f"sha256:{hashlib.sha256(content.encode()).hexdigest()}"}


@pytest.fixture
def text(tmp_path):
    return pinned(tmp_path / "text.txt", "abcdefghij" * 12)


@pytest.fixture
def questions(tmp_path):
    lines = [f'{{"prompt": "{n} + 1 = ", "answer": {n + (1 if n < 19 else 2)}}}' for n in range(20)]
    return pinned(tmp_path / "q.jsonl", "\n".join(lines))


def guard(require, **keys):
    stated = {"id": "g", "title": "t", "probe": "quality", "subject": "e.yaml", "window_characters": 10}
    return QualityGuard.model_validate({**stated, "require": require, **keys})


def measure(asked, path):
    context = Context({}, None, interpreted=True, folder=str(path.parent))
    return measured(QualityProbe(), asked, FileSubject.read(path), context)[0]


def status(asked, found):
    (verdict,) = judge(LoadedGuard(asked, 1, {}), found)
    return verdict.status


def test_a_server_is_given_the_windows_of_a_text_and_every_question(tmp_path, text, questions):
    asked = guard({"perplexity": {"ceiling": 5}}, texts=[text], questions=questions)
    with serving(Served()) as served:
        found = by_metric(measure(asked, server_engine(tmp_path, served.url)))
    assert found["perplexity"].value == pytest.approx(math.exp(1.5))
    assert found["perplexity"].where == {"file": "text.txt"}
    assert sentences(found["perplexity"]) == ["12 windows of 10 characters, 108 tokens"]
    right = found["accuracy"]
    assert (right.value, right.inspected, right.where) == (0.95, 20, {"file": "q.jsonl"})
    assert sentences(right) == ["19 of 20 answers are right"]
    assert [len(request["prompt"]) for request in served.asked[:12]] == [10] * 12


def test_few_questions_leave_a_close_bound_undecided(tmp_path, questions):
    with serving(Served()) as served:
        path = server_engine(tmp_path, served.url)
        for floor, expected in ((0.9, Status.UNDECIDED), (0.7, Status.PASS), (0.999, Status.FAIL)):
            asked = guard({"accuracy": {"floor": floor}}, questions=questions)
            assert status(asked, measure(asked, path)) is expected


def test_an_offline_engine_is_booted_for_it_and_compared(tmp_path, text):
    worse = fake_engine(tmp_path, nats=2.2)
    fake_engine(tmp_path, "stock.yaml")
    asked = guard({"perplexity_ratio": {"ceiling": 1.1}}, texts=[text], against="stock.yaml")
    found = measure(asked, worse)
    ratio = by_metric(found)["perplexity_ratio"]
    # Of ten letters from a to j nine are scored, from b on.
    mean = 1 + sum(range(98, 107)) / 9 / 256
    assert ratio.value == pytest.approx(math.exp(0.2 * mean))
    assert ratio.interval == pytest.approx((ratio.value, ratio.value))
    assert status(asked, found) is Status.FAIL


def test_a_text_of_another_hash_is_an_error(tmp_path, text):
    (tmp_path / "text.txt").write_text("another text" * 20)
    asked = guard({"perplexity": {"ceiling": 5}}, texts=[text])
    (found,) = measure(asked, server_engine(tmp_path, "http://127.0.0.1:1"))
    assert isinstance(found, Unmeasured)
    assert f"and the guard is about {text['hash']}; put the agreed file back" in found.reason


def test_the_engine_is_one_that_serves(tmp_path, text):
    (path := tmp_path / "hf.yaml").write_text("engine: transformers\nmodel: m\n")
    (found,) = measure(guard({"perplexity": {"ceiling": 5}}, texts=[text]), path)
    assert found == Unmeasured("an engine of kind 'transformers' serves no requests; use vllm or server")


def test_the_corpora_are_files_that_the_measurement_depends_on(text, questions):
    asked = guard({"accuracy": {"floor": 0}}, texts=[text], questions=questions)
    assert asked.further_files == ("text.txt", "q.jsonl")


@pytest.mark.parametrize(
    ("metric", "keys", "message"),
    [
        ("perplexity", {}, "perplexity needs 'texts'"),
        ("perplexity_ratio", {}, "perplexity_ratio needs 'texts' and 'against'"),
        ("accuracy", {}, "accuracy needs 'questions'"),
        ("accuracy", {"questions": {"file": "q", "hash": "sha256:12"}}, "String should match pattern"),
    ],
)
def test_a_guard_states_what_its_bounds_need(metric, keys, message):
    with pytest.raises(ValidationError, match=message):
        guard({metric: {"ceiling": 1}}, **keys)
