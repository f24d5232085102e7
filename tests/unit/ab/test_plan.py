import os
from pathlib import Path

import pytest

from guardrail.ab.arm import Arm, loaded_files, require_unchanged
from guardrail.ab.plan import require_distinct, require_sound
from guardrail.adapters.private_caches import CACHE_VARIABLES, Caches
from guardrail.errors import MeasurementError, UsageError
from guardrail.records.cache import Cache
from unit.ab.conftest import make_plan

ENVIRONMENT = {"PATH": os.environ["PATH"], "KNOB": "1"}


@pytest.fixture
def scripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in (("one.sh", "echo 1"), ("copy.sh", "echo 1"), ("two.sh", "echo 2")):
        Path(name).write_text(text)
    return tmp_path


def check(a, b, **changes):
    plan = make_plan(a=a, b=b, shared=ENVIRONMENT, **changes)
    require_distinct(plan, loaded_files(a, ENVIRONMENT), loaded_files(b, ENVIRONMENT))


def test_files_among_the_arguments_are_hashed_with_the_program(scripts):
    program, script = loaded_files(Arm("A", ("sh", "one.sh", "-n", "1")), ENVIRONMENT)
    assert (Path(program.path).name, script.path) == ("sh", "one.sh")
    assert script.fingerprint == "8ff76b84557c1745fe2003155f68de27f0c501ccceefd947b5746fe7a7de831e"


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (Arm("A", ("sh", "one.sh")), Arm("B", ("sh", "one.sh"))),
        (Arm("A", ("sh", "one.sh")), Arm("B", ("sh", "copy.sh"))),
        (Arm("A", ("sh", "one.sh")), Arm("B", ("sh", "one.sh"), {"KNOB": "1"})),
    ],
)
def test_arms_that_are_the_same_are_refused(scripts, a, b):
    with pytest.raises(UsageError, match="the arms are one and the same"):
        check(a, b)
    check(a, b, self_compare=True)


@pytest.mark.parametrize(
    "b",
    [
        Arm("B", ("sh", "two.sh")),
        Arm("B", ("sh", "one.sh", "-n")),
        Arm("B", ("sh", "one.sh"), {"KNOB": "0"}),
        Arm("B", ("bash", "one.sh")),
    ],
)
def test_arms_differ_by_file_argument_variable_or_program(scripts, b):
    check(Arm("A", ("sh", "one.sh")), b)
    with pytest.raises(UsageError, match="--self-compare compares an arm with itself"):
        check(Arm("A", ("sh", "one.sh")), b, self_compare=True)


def test_a_program_that_is_not_there_is_named(scripts):
    with pytest.raises(
        UsageError, match=r"arm B: there is no program 'q6k\.mmvq'; to time an arm of .*say on"
    ):
        loaded_files(Arm("B", ("q6k.mmvq",)), ENVIRONMENT)


def test_an_arm_that_is_rebuilt_meanwhile_is_refused(scripts):
    arm = Arm("A", ("sh", "one.sh"))
    before = loaded_files(arm, ENVIRONMENT)
    require_unchanged(arm, before, ENVIRONMENT)
    Path("one.sh").write_text("echo 3")
    with pytest.raises(MeasurementError, match=r"arm A: one\.sh changed while it was measured"):
        require_unchanged(arm, before, ENVIRONMENT)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"reader": "jsn"}, "--reader jsn: there is no such reader; did you mean 'json'?"),
        ({"metric": "a..b"}, "--metric a..b: 'a..b' is no path; write one as a.b[0].c"),
        ({"controls": ("",)}, "--control : a path is empty; write one as a.b[0].c"),
        ({"accept": ()}, "give --accept and --veto: a criterion that is chosen afterwards decides nothing"),
        ({"self_compare": True}, "--self-compare asks whether the ratio is 1, so it takes neither"),
        ({"pairs": 5}, "--pairs 5: too few for an interval at --confidence 0.95; give 6 or more"),
        (
            {"pairs": 7, "confidence": 0.99},
            "--pairs 7: too few for an interval at --confidence 0.99; give 8 or more",
        ),
        (
            {"cache": Cache.FRESH, "b": Arm("B", ("bench",), {"TRITON_CACHE_DIR": "x"})},
            "--cache fresh sets TRITON_CACHE_DIR itself; leave it out of the arms",
        ),
    ],
)
def test_a_plan_that_could_decide_nothing_is_refused(changes, message):
    with pytest.raises(UsageError) as caught:
        require_sound(make_plan(**changes))
    assert str(caught.value).startswith(message)


def test_shared_caches_are_left_alone():
    with Caches.opened(Cache.SHARED) as caches:
        assert caches.variables("A") == {}


@pytest.mark.parametrize(("kind", "same"), [(Cache.ARM, True), (Cache.FRESH, False)])
def test_private_caches_last_for_an_arm_or_a_run(kind, same):
    with Caches.opened(kind) as caches:
        first, other, again = (caches.variables(side) for side in ("A", "B", "A"))
        assert tuple(first) == CACHE_VARIABLES
        assert len({*first.values(), *other.values()}) == 6
        assert (first == again) is same
        assert all(Path(folder).is_dir() for folder in first.values())
    assert not any(Path(folder).exists() for folder in first.values())
