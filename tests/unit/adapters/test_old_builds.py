import subprocess
import sys

import pytest

from guardrail.adapters.old_builds import old_build
from guardrail.errors import MeasurementError, UsageError


@pytest.fixture
def checkout(tmp_path):
    """A checkout of two commits, and its git."""

    def git(*arguments):
        identity = ("-c", "user.name=tester", "-c", "user.email=tester@example.org")
        command = ["git", "-C", str(tmp_path), *identity, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    (tmp_path / "deep").mkdir()
    guards = tmp_path / "deep" / "guards.yaml"
    git("init", "-q")
    for text in ("old", "new"):
        guards.write_text(text)
        git("add", "-A")
        git("commit", "-qm", text)
    return guards, git


def test_a_revision_has_a_work_tree_of_its_own_which_goes_afterwards(checkout):
    guards, git = checkout
    with old_build("HEAD~1", guards) as build:
        assert (build.folder / "guards.yaml").read_text() == "old"
        assert build.folder.name == "deep"
        assert " ".join(build.command[3:]) == (
            "check --guards guards.yaml --only {guard} --format json --fresh"
        )
        tree = build.folder
    assert not tree.exists()
    assert len(git("worktree", "list").splitlines()) == 1
    assert guards.read_text() == "new"


def test_a_command_gets_the_guard_and_gives_a_report(tmp_path):
    program = "import sys; print('report of', sys.argv[1])"
    with old_build(f'{sys.executable} -c "{program}" {{guard}}', tmp_path / "guards.yaml") as build:
        assert build.measure("decode") == "report of decode\n"


def test_a_command_without_a_report_is_an_error_with_what_it_said(tmp_path):
    program = "import sys; sys.exit('no engine here')"
    with (
        old_build(f'{sys.executable} -c "{program}" {{guard}}', tmp_path / "guards.yaml") as build,
        pytest.raises(MeasurementError, match="ended with 1 and without a report; it said: no engine here"),
    ):
        build.measure("decode")


def test_a_command_that_is_not_there_is_an_error(tmp_path):
    with (
        old_build("no-such-engine {guard}", tmp_path / "guards.yaml") as build,
        pytest.raises(MeasurementError, match="no-such-engine decode cannot be run"),
    ):
        build.measure("decode")


@pytest.mark.parametrize("against", ["no-such-revision", "--help", "guardrail check"])
def test_what_is_neither_revision_nor_command_is_refused(checkout, against):
    with pytest.raises(UsageError, match="expected a git revision of"), old_build(against, checkout[0]):
        pass


def test_outside_a_checkout_there_is_no_revision(tmp_path):
    with (
        pytest.raises(UsageError, match="expected a git revision of"),
        old_build("HEAD", tmp_path / "guards.yaml"),
    ):
        pass
