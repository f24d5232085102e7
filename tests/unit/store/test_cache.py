import json
import resource
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from guardrail.errors import UsageError
from guardrail.records.task import Done, Failed
from guardrail.store.cache import (
    CACHE_VARIABLE,
    CacheSize,
    CachingRunner,
    MeasurementCache,
    cache_folder,
    canonical,
)
from helpers.fakes import FakeRunner, fake_task

KEY = "ab" + "0" * 62


def key_of(task):
    return f"{task.function}{sorted(task.arguments.items())}".encode().hex()


@pytest.fixture
def cache(tmp_path: Path) -> MeasurementCache:
    return MeasurementCache(tmp_path)


def caching(inner, cache, fresh=False):
    return CachingRunner(inner, cache, key_of, fresh)


def run(runner, *names):
    return dict(runner.run([fake_task(name) for name in names]))


def test_an_entry_comes_back_marked_as_cached(cache):
    cache.put(KEY, Done({"units": [1, 2.5, None, "a"]}, 1.25))
    assert cache.get(KEY) == Done({"units": [1, 2.5, None, "a"]}, 1.25, cached=True)


def test_an_unknown_key_is_a_miss(cache):
    assert cache.get(KEY) is None


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[]", b"3", b'{"value": 1}', b"null"])
def test_an_unreadable_entry_is_a_miss_and_is_replaced(cache, tmp_path, content):
    cache.put(KEY, Done(1, 1.0))
    (entry,) = tmp_path.rglob("*.json")
    entry.write_bytes(content)
    assert cache.get(KEY) is None
    cache.put(KEY, Done(2, 1.0))
    assert cache.get(KEY) == Done(2, 1.0, cached=True)


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path):
    blocked = tmp_path / "file"
    blocked.touch()
    cache = MeasurementCache(blocked)
    cache.put(KEY, Done(1, 1.0))
    assert cache.get(KEY) is None
    assert cache.size() == CacheSize(0, 0)


def test_a_full_disk_keeps_no_half_of_an_entry(cache, tmp_path):
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, most))
    try:
        cache.put(KEY, Done("x" * 100_000, 1.0))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_size_and_clearing(cache, tmp_path):
    for digit in "abc":
        cache.put(digit * 64, Done(1, 1.0))
    (tmp_path / "measurements" / "aa" / "left-over.new").touch()
    held = sum(path.stat().st_size for path in tmp_path.rglob("*.json"))
    assert cache.size() == CacheSize(3, held)
    assert cache.clear() == CacheSize(3, held)
    assert cache.size() == CacheSize(0, 0)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_what_cannot_be_removed_is_named(cache, tmp_path):
    (tmp_path / "measurements" / "aa" / "folder.json").mkdir(parents=True)
    with pytest.raises(UsageError, match=r"folder.json: cannot be removed"):
        cache.clear()


def test_the_folder_follows_its_variable(monkeypatch, tmp_path):
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.setenv(CACHE_VARIABLE, "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "guardrail"


def test_a_second_run_measures_nothing(cache):
    first, second = FakeRunner(), FakeRunner()
    assert run(caching(first, cache), "a", "b") == {0: Done("a", 1.0), 1: Done("b", 1.0)}
    again = run(caching(second, cache), "b", "a", "c")
    assert second.batches == [["c"]]
    assert again == {0: Done("b", 1.0, cached=True), 1: Done("a", 1.0, cached=True), 2: Done("c", 1.0)}


def test_a_fresh_run_measures_again_and_keeps_the_new_outcome(cache):
    run(caching(FakeRunner({"a": Done("old", 1.0)}), cache), "a")
    fresh = FakeRunner({"a": Done("new", 1.0)})
    assert run(caching(fresh, cache, fresh=True), "a") == {0: Done("new", 1.0)}
    assert run(caching(FakeRunner(), cache), "a") == {0: Done("new", 1.0, cached=True)}


@pytest.mark.parametrize("fresh", [False, True])
def test_equal_tasks_are_measured_once_in_a_round_and_in_the_next(cache, fresh):
    inner = FakeRunner()
    runner = caching(inner, cache, fresh)
    assert run(runner, "a", "b", "a") == {0: Done("a", 1.0), 1: Done("b", 1.0), 2: Done("a", 1.0)}
    assert run(runner, "a") == {0: Done("a", 1.0)}
    assert inner.batches == [["a", "b"]]


def test_tasks_that_differ_in_an_argument_are_two(cache):
    inner = FakeRunner()
    tasks = [fake_task("a", seed=seed) for seed in (1, 2)]
    assert len(dict(caching(inner, cache).run(tasks))) == 2
    assert inner.batches == [["a", "a"]]


def test_a_failed_outcome_is_never_kept(cache):
    failed = Failed("the worker died")
    assert run(caching(FakeRunner({"a": failed}), cache), "a", "a") == {0: failed, 1: failed}
    assert cache.size().entries == 0
    assert run(caching(FakeRunner(), cache), "a") == {0: Done("a", 1.0)}


def test_what_a_clock_decides_is_measured_anew_in_every_run(cache):
    timed = replace(fake_task("a"), reusable=False)
    for _ in range(2):
        inner = FakeRunner()
        assert dict(caching(inner, cache).run([timed])) == {0: Done("a", 1.0)}
        assert inner.batches == [["a"]]
    assert cache.size().entries == 0


def test_no_task_reaches_nobody(cache):
    inner = FakeRunner()
    assert run(caching(inner, cache)) == {}
    assert inner.batches == []


@dataclass(frozen=True)
class One:
    name: str
    controls: tuple[object, ...] = ()


@dataclass(frozen=True)
class Other:
    name: str


def test_canonical_text_names_kinds_and_leaves_controls_out():
    assert json.loads(canonical([One("a", (object(),)), {"b": (1, None)}])) == [
        {"type": "One", "name": "a"},
        {"b": [1, None]},
    ]
    assert canonical(One("a")) != canonical(Other("a"))


def test_canonical_text_does_not_depend_on_the_order_of_keys():
    assert canonical({"a": 1, "b": 2}) == canonical({"b": 2, "a": 1})


@pytest.mark.parametrize("value", [{1, 2}, object, {("a", 1): 2}])
def test_what_has_no_canonical_text_is_the_manifest_s_fault(value):
    with pytest.raises(UsageError, match="a manifest may hold strings, numbers and dataclasses of them only"):
        canonical(One(value))
