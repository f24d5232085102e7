from pathlib import Path

import pytest

from guardrail.adapters import profile_targets
from guardrail.adapters.profile_targets import TargetRequest, profile_target
from guardrail.adapters.subject_profile import SubjectRequest
from guardrail.errors import UsageError

DATA = Path(__file__).parents[2] / "data" / "traces"


@pytest.fixture
def asked(monkeypatch, tmp_path):
    """What each kind of target was profiled with, in a folder with a script and a program."""
    calls = []
    for name in ("profile_python", "profile_command", "profile_with_ncu", "profile_subject"):
        monkeypatch.setattr(
            profile_targets, name, lambda *args, name=name, **options: calls.append((name, args, options))
        )
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.py").write_text("")
    (tmp_path / "app").write_text("#!/bin/sh\n")
    (tmp_path / "app").chmod(0o755)
    return calls


def test_a_script_and_a_module_run_under_torchs_profiler(asked):
    profile_target(TargetRequest(("s.py", "-x", "1")))
    profile_target(TargetRequest(("-x",), module="pkg.mod"))
    assert asked == [
        ("profile_python", ("s.py", ("-x", "1")), {"is_module": False}),
        ("profile_python", ("pkg.mod", ("-x",)), {"is_module": True}),
    ]


def test_counters_of_a_script_are_read_by_ncu(asked):
    profile_target(TargetRequest(("-x",), module="pkg.mod", counters=("dram__bytes.sum",)))
    ((name, (command, counters), _),) = asked
    assert (name, command[1:], counters) == (
        "profile_with_ncu",
        ("-m", "pkg.mod", "-x"),
        ("dram__bytes.sum",),
    )


def test_a_program_and_a_command_on_path_are_commands(asked, tmp_path):
    profile_target(TargetRequest(("./app", "1")))
    profile_target(TargetRequest(("ls", "-l")))
    assert asked == [
        ("profile_command", ((str(tmp_path / "app"), "1"), ()), {}),
        ("profile_command", (("ls", "-l"), ()), {}),
    ]


def test_a_dotted_name_is_a_subject_with_its_options(asked):
    profile_target(TargetRequest(("q6k.matvec",), subject=SubjectRequest("", ("id=256",), "v2", 3)))
    assert asked == [("profile_subject", (SubjectRequest("q6k.matvec", ("id=256",), "v2", 3), ()), {})]


def test_a_report_is_read(asked):
    assert profile_target(TargetRequest((str(DATA / "kineto.json"),))).tool == "kineto"


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        (TargetRequest(()), "nothing to profile; expected a bundled or your own kernel"),
        (TargetRequest(("absent.csv",)), r"absent\.csv: no such file; expected"),
        (TargetRequest(("./absent",)), r"\./absent: no such file"),
        (TargetRequest(("absent",)), "absent: no file, no command on PATH and no family"),
        (TargetRequest(("q6k.matvec", "x")), "a kernel takes no arguments"),
        (
            TargetRequest((str(DATA / "kineto.json"), "x")),
            "a saved report takes no arguments, and 'x' is one",
        ),
        (
            TargetRequest(("s.py",), subject=SubjectRequest("", arm="v2")),
            r"--arm: only a kernel.*s\.py is none",
        ),
        (
            TargetRequest((str(DATA / "kineto.json"),), subject=SubjectRequest("", calls=3)),
            r"--calls: only a kernel.*kineto\.json is none",
        ),
        (TargetRequest((".",)), "a folder; expected CSV of ncu"),
    ],
)
def test_what_is_none_of_these_is_refused_with_what_was_expected(asked, request_, said):
    with pytest.raises(UsageError, match=said):
        profile_target(request_)
