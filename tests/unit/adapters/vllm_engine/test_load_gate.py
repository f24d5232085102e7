import os

from guardrail.adapters.vllm_engine.load_gate import Gate, wait_until_quiet


def test_a_quiet_host_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(os, "getloadavg", lambda: (0.5, 9.0, 9.0))
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    assert wait_until_quiet(Gate(1.0, 60.0), with_gpu=False) == ""


def test_it_is_waited_until_the_load_has_fallen(monkeypatch):
    loads = iter([5.0, 3.0, 1.9])
    naps = []
    monkeypatch.setattr(os, "getloadavg", lambda: (next(loads), 0.0, 0.0))
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    assert wait_until_quiet(Gate(1.0, 60.0), with_gpu=False, sleep=naps.append) == ""
    assert naps == [2.0, 2.0]


def test_a_host_that_stays_busy_is_named_with_its_figures(monkeypatch):
    naps = []
    monkeypatch.setattr(os, "getloadavg", lambda: (5.0, 0.0, 0.0))
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    assert wait_until_quiet(Gate(1.5, 4.0), with_gpu=False, sleep=naps.append) == (
        "The host has a load of 5.0 on 2 processors. It was not quiet within 4 s."
    )
    assert naps == [2.0, 2.0]
