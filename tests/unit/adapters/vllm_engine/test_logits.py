import pytest

from guardrail.adapters.vllm_engine.logits import collect_logits
from guardrail.compiled.file_subject import FileSubject
from guardrail.errors import MeasurementError, UsageError
from guardrail.logits.packing import unpack
from helpers.engines import fake_engine, server_engine

PROMPTS = [list(range(40)), list(range(50, 90))]


def collect(folder, query_tokens, prompts=PROMPTS, **wrong):
    subject = FileSubject.read(fake_engine(folder, **wrong))
    return collect_logits(subject, str(fake_engine(folder, "stock.yaml")), None, prompts, query_tokens)


def test_a_verify_step_is_compared_apart_from_the_first(tmp_path):
    found = collect(tmp_path, [8], verify_error=0.5)["steps"]
    assert list(found) == ["first step", "8 query tokens"]
    deltas = {
        step: float(abs(unpack(roles["subject"]) - unpack(roles["reference"])).max())
        for step, roles in found.items()
    }
    assert deltas["first step"] == 0
    assert deltas["8 query tokens"] == pytest.approx(0.5, abs=1e-6)
    assert unpack(found["8 query tokens"]["subject"]).shape == (2, 32)


@pytest.mark.parametrize(("tokens", "query_tokens"), [(8, 8), (40, 17)])
def test_a_step_of_other_query_tokens_than_were_meant_is_an_error(tmp_path, tokens, query_tokens):
    with pytest.raises(MeasurementError, match=f"one of {query_tokens} behind a whole block was meant"):
        collect(tmp_path, [query_tokens], [list(range(tokens))])


def test_raw_logits_do_not_come_from_a_server(tmp_path):
    subject = FileSubject.read(server_engine(tmp_path, "http://127.0.0.1:1"))
    with pytest.raises(UsageError, match="raw logits are read from an engine of kind vllm, not server"):
        collect_logits(subject, "x", None, PROMPTS, [])
