from dataclasses import replace
from pathlib import Path

import pytest

from guardrail import workspace as module
from guardrail.adapters.device import Gpu
from guardrail.compiled.file_subject import FileSubject
from guardrail.errors import UsageError
from guardrail.families import Kernel
from guardrail.records.task import Environment, Task
from guardrail.spec.faults import ConfigurationError
from guardrail.workspace import Selection, open_workspace
from helpers.folders import write_module

GUARDS = """\
version: 1
guards:
  - id: gate
    title: t
    probe: dispatch
    subject: q6k.mmvq
    models: [qwen2.5-7b]
    require: {dropped_units: {equals: 0}}
  - id: numbers
    title: t
    probe: numerics
    subject: q6k.matvec
    require: {relative_error: {ceiling: 1.0e-6}}
"""

FILE_GUARD = """\
version: 1
guards:
  - {id: lib, title: t, probe: resources, subject: lib.so, archs: [sm_90], require: {registers: {ceiling: 9}}}
"""

H200 = Gpu("NVIDIA H200", "GPU-1", "580.1")


@pytest.fixture
def open_guards(tmp_path: Path):
    """Open a guards file of the given text."""

    def opened(text=GUARDS, gpu=None, **selection):
        path = tmp_path / "guards.yaml"
        path.write_text(text)
        return replace(open_workspace(Selection(path, **selection)), gpu=gpu)

    return opened


def ids(workspace):
    return [loaded.guard.id for loaded in workspace.selected()]


def test_all_guards_are_selected_without_a_pattern(open_guards):
    assert ids(open_guards()) == ["gate", "numbers"]


@pytest.mark.parametrize(
    ("only", "selected"),
    [
        (("g*",), ["gate"]),
        (("numbers",), ["numbers"]),
        (("*e*",), ["gate", "numbers"]),
        (("n*", "g*"), ["gate", "numbers"]),
    ],
)
def test_patterns_select_by_id(open_guards, only, selected):
    assert ids(open_guards(only=only)) == selected


def test_a_pattern_that_matches_nothing_is_refused_beside_one_that_does(open_guards):
    with pytest.raises(UsageError, match=r"guards\.yaml has no guard 'Gate'; did you mean 'gate'\?$"):
        ids(open_guards(only=("gate", "Gate")))


def test_a_job_joins_a_guard_with_its_probe_and_its_subject(open_guards):
    gate, numbers = open_guards().jobs()
    assert (type(gate.probe).__name__, gate.subject.name) == ("DispatchProbe", "mmvq")
    assert (type(numbers.probe).__name__, numbers.subject.name) == ("NumericsProbe", "matvec")
    assert gate.subject_hash != numbers.subject_hash
    assert len(gate.subject_hash) == 64


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("title: t", "title: another", True),
        ("{equals: 0}", "{ceiling: 3}", True),
        ("models: [qwen2.5-7b]", "models: [qwen2.5-14b]", False),
        ("subject: q6k.matvec", "subject: q6k.matvec\n    seeds: 2", False),
        ("subject: q6k.mmvq", "subject: q6k.mmvq\n    control: q6k.mmvq", True),
    ],
)
def test_a_subject_s_hash_binds_to_what_is_measured_not_to_how_it_is_judged(open_guards, old, new, same):
    before = [job.subject_hash for job in open_guards().jobs()]
    after = [job.subject_hash for job in open_guards(GUARDS.replace(old, new, 1)).jobs()]
    assert (before == after) is same


def test_a_model_profile_that_changes_changes_the_hash_of_the_guards_that_name_it(open_guards, tmp_path):
    gate, numbers = (job.subject_hash for job in open_guards().jobs())
    own = tmp_path / "profiles" / "models"
    own.mkdir(parents=True)
    (own / "qwen2.5-7b.yaml").write_text("name: qwen2.5-7b\nquery_heads: 4\nkv_heads: 4\nhead_size: 8\n")
    changed_gate, same_numbers = (job.subject_hash for job in open_guards().jobs())
    assert changed_gate != gate
    assert same_numbers == numbers


def test_a_file_beside_the_guards_file_is_a_subject(open_guards, tmp_path):
    (tmp_path / "lib.so").write_bytes(b"one")
    (job,) = open_guards(FILE_GUARD).jobs()
    assert job.subject == FileSubject.read(tmp_path / "lib.so")
    (tmp_path / "lib.so").write_bytes(b"two")
    (changed,) = open_guards(FILE_GUARD).jobs()
    assert changed.subject_hash != job.subject_hash


def test_a_file_that_is_missing_is_looked_for_among_the_families(open_guards):
    with pytest.raises(
        ConfigurationError,
        match=r"guards\.yaml:3: there is no family 'lib' and no file 'lib\.so'; known families: ",
    ):
        open_guards(FILE_GUARD)


def test_a_file_s_name_does_not_serve_a_probe_that_reads_none(open_guards, tmp_path):
    (tmp_path / "q6k.mmvq").touch()
    assert open_guards().jobs()[0].subject.name == "mmvq"


def test_a_file_that_cannot_be_read_is_a_configuration_error(open_guards):
    name = "x" * 300
    with pytest.raises(ConfigurationError, match=r"cannot be read: File name too long|there is no family"):
        open_guards(FILE_GUARD.replace("lib.so", name))


def test_kinds_of_files_are_not_named_among_a_family_s_subjects(open_guards):
    workspace = open_guards()
    with pytest.raises(UsageError, match=r"^family q6k has no kernel 'gone'; it has: "):
        workspace.subject("q6k.gone", (Kernel, FileSubject))


TASK = Task(
    "guardrail.probes.capacity:row_sizes", {"models": []}, Environment.HOST, ("guardrail.kernels.q6k.gate",)
)


def key(workspace, task=TASK):
    return workspace.runner()._key(task)


def test_a_key_is_the_same_for_the_same_task(open_guards):
    assert key(open_guards()) == key(open_guards())


@pytest.mark.parametrize(
    "changes",
    [
        {"arguments": {"models": [1]}},
        {"function": "guardrail.probes.capacity:count_violations"},
        {"environment": Environment.EXECUTE},
        {"modules": ("guardrail.kernels.q6k.matvec",)},
    ],
)
def test_a_key_tells_tasks_apart(open_guards, changes):
    workspace = open_guards()
    assert key(workspace, replace(TASK, **changes)) != key(workspace)


@pytest.mark.parametrize(
    "name",
    ["TRITON_DEFAULT_FP_FUSION", "TRITON_ANYTHING", "DISABLE_PTXAS_OPT", "LLVM_IR_ENABLE_DUMP", "CUDA_HOME"],
)
def test_a_key_depends_on_the_toolchain_s_environment(open_guards, monkeypatch, name):
    before = key(open_guards())
    monkeypatch.setenv(name, "1")
    assert key(open_guards()) != before


@pytest.mark.parametrize("name", ["GUARDRAIL_CACHE_DIR", "HOME", "MY_KNOB"])
def test_a_key_does_not_depend_on_the_rest_of_the_environment(open_guards, monkeypatch, name, tmp_path):
    before = key(open_guards())
    monkeypatch.setenv(name, str(tmp_path))
    assert key(open_guards()) == before


def test_a_key_depends_on_the_versions_of_the_toolchain(open_guards, monkeypatch):
    before = key(open_guards())
    monkeypatch.setattr(module, "versions", lambda: {"triton": "3.9.9"})
    assert key(open_guards()) != before


def test_a_key_depends_on_the_gpu(open_guards):
    assert len({key(open_guards(gpu=gpu)) for gpu in (None, H200, replace(H200, driver="580.2"))}) == 3


def test_a_key_depends_on_the_sources(open_guards, tmp_path, monkeypatch):
    write_module(tmp_path, "shapes_of_mine", "REACH = 1")
    task = replace(TASK, modules=("shapes_of_mine",))
    before = key(open_guards(), task)
    write_module(tmp_path, "shapes_of_mine", "REACH = 2  # changed")
    assert key(open_guards(), task) != before


OWN_FAMILY = """
    from guardrail.families import Family, Plan

    PLAN = Plan("scratch", "m:a", "m:b", "m:c", "m:d")
    FAMILY = Family("own", "t", plans=(PLAN,), knobs={"MY_KNOB": "Turns the arm off."})
"""


def test_knobs_that_a_user_s_family_reads_are_in_force(open_guards, tmp_path, monkeypatch):
    write_module(tmp_path, "family_with_knob", OWN_FAMILY)
    guards = FILE_GUARD.replace("resources", "capacity").replace("registers", "violations")
    guards = guards.replace("lib.so, archs: [sm_90]", "'family_with_knob:FAMILY.scratch'")
    monkeypatch.setenv("MY_KNOB", "off")
    assert "MY_KNOB" not in open_guards().knobs()
    assert open_guards(guards).knobs()["MY_KNOB"] == "off"


def test_inputs_are_fixed_unless_measured_afresh(open_guards):
    assert open_guards().context().seed == 0
    seeds = {open_guards(fresh=True).context().seed for _ in range(8)}
    assert len(seeds) == 8


def test_a_device_profile_is_handed_to_the_probes(open_guards):
    context = open_guards(profile="h200").context()
    assert (context.device.name, context.device.arch, context.interpreted) == ("h200", "sm_90", True)
    assert open_guards(gpu=H200).context().interpreted is False


@pytest.mark.parametrize("selection", [{"profile": "h2000"}, {"required_profiles": ("h2000",)}])
@pytest.mark.parametrize("gpu", [None, H200])
def test_an_unknown_device_profile_is_refused(open_guards, selection, gpu):
    workspace = open_guards(gpu=gpu, **selection)
    with pytest.raises(UsageError, match=r"^there is no device profile 'h2000'; did you mean 'h200'"):
        (workspace.context(), workspace.absent_profiles())


@pytest.mark.parametrize(
    ("gpu", "absent"),
    [(None, ("h200", "rtx4090")), (H200, ("rtx4090",)), (Gpu("other", "", ""), ("h200", "rtx4090"))],
)
def test_required_profiles_of_other_machines_are_absent(open_guards, gpu, absent):
    assert open_guards(gpu=gpu, required_profiles=("h200", "rtx4090")).absent_profiles() == absent
