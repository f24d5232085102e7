import os

import pytest

from guardrail.adapters.vllm_engine.session import run_session
from guardrail.compiled.file_subject import FileSubject
from guardrail.errors import UsageError
from helpers.engines import fake_engine, server_engine
from helpers.openai_server import Served, serving

WORKLOAD = {"requests": 2, "prompt_tokens": 20, "vocabulary": 100, "new_tokens": 8}


def session(subject, against=None, rounds=1, cache="shared", load=1000.0, prompts=None):
    other = None if against is None else str(against)
    return run_session(FileSubject.read(subject), other, prompts, WORKLOAD, rounds, cache, load, 0.0)


def test_each_request_of_a_boot_is_timed_behind_a_warm_up(tmp_path):
    found = session(fake_engine(tmp_path, speculation=True))
    assert list(found["arms"]) == ["subject"]
    (row,) = found["arms"]["subject"]
    assert row["steps"] == [4, 4]
    assert row["completion_tokens"] == [8, 8]
    assert row["cached_tokens"] == [0, 0]
    assert row["tokens_per_step"] == [7 / 3, 7 / 3]
    assert len(row["ms_per_step"]) == 2
    assert min(row["ms_per_step"]) > 2
    rates = zip(row["tokens_per_second"], row["isolated_tokens_per_second"], strict=True)
    assert [round(isolated / rate, 6) for rate, isolated in rates] == [7 / 8, 7 / 8]


@pytest.mark.parametrize(
    ("settings", "late"), [({}, None), ({"compiles_in": 0}, []), ({"compiles_in": 1}, ["attend"])]
)
def test_kernels_compiled_behind_the_warm_up_are_named_where_the_engine_watches(tmp_path, settings, late):
    monitor = {} if late is None else {"monitor": 1}
    (row,) = session(fake_engine(tmp_path, **monitor, **settings))["arms"]["subject"]
    assert row["late_compilations"] == late


def test_what_a_request_repeats_is_counted_by_its_token_ids(tmp_path):
    (row,) = session(fake_engine(tmp_path))["arms"]["subject"]
    assert row["repeated_share"] == [0.0, 0.0]
    with serving(Served(with_token_ids=False)) as served:
        (row,) = session(server_engine(tmp_path, served.url))["arms"]["subject"]
    assert (row["repeated_share"], row["late_compilations"]) == ([None, None], None)


def test_arms_take_turns_in_their_order_and_get_the_same_prompts(tmp_path):
    with serving(Served()) as one, serving(Served()) as other:
        everything = []
        one.asked = other.asked = everything
        session(server_engine(tmp_path, one.url), server_engine(tmp_path, other.url, "b.yaml"), rounds=2)
    prompts = [tuple(request["prompt"]) for request in everything]
    first, second, third, fourth = (prompts[at : at + 3] for at in range(0, 12, 3))
    assert (first, third) == (second, fourth)
    assert set(first).isdisjoint(third)
    assert len(set(prompts)) == 6


def test_an_arm_has_a_cache_of_its_own_that_its_second_boot_finds(tmp_path):
    path = fake_engine(tmp_path, own_cache=False, warm_seconds=0.02)
    first, second = session(path, rounds=2, cache="arm")["arms"]["subject"]
    assert first["cache_before"]["vllm"] == "cold"
    assert first["cache_after"]["vllm"].startswith("files: 1, sha256:")
    assert second["cache_before"] == second["cache_after"] == first["cache_after"]
    assert min(second["ms_per_step"]) > max(first["ms_per_step"])


def test_a_cache_that_the_engine_names_itself_is_no_private_one(tmp_path):
    with pytest.raises(UsageError, match="'cache: arm' sets VLLM_CACHE_ROOT itself"):
        session(fake_engine(tmp_path), cache="arm")


def test_a_running_server_has_no_private_cache(tmp_path):
    with pytest.raises(UsageError, match="'cache: fresh' needs engines that are booted, not server"):
        session(server_engine(tmp_path, "http://127.0.0.1:1"), cache="fresh")


def test_nothing_is_booted_on_a_busy_host(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "getloadavg", lambda: (9.0, 9.0, 9.0))
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    found = session(fake_engine(tmp_path), load=1.0)
    assert found["busy"] == "The host has a load of 9.0 on 2 processors. It was not quiet within 0 s."
    assert found["arms"] == {"subject": []}


def test_prompts_of_a_file_are_all_asked_behind_a_drawn_one(tmp_path):
    (file := tmp_path / "p.jsonl").write_text('"one"\n"two"\n"three"\n')
    with serving(Served()) as served:
        found = session(server_engine(tmp_path, served.url), prompts=str(file))
    assert [request["prompt"] for request in served.asked][1:] == ["one", "two", "three"]
    assert found["prompts"] == f"prompts of {file}"
    (row,) = found["arms"]["subject"]
    assert (len(row["steps"]), row["cache_before"], row["cache_after"]) == (3, {}, {})
