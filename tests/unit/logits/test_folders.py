from guardrail.errors import ExitCode
from guardrail.logits.folders import FileDelta, FileStatus, FolderComparison, Presence, judge_folders

SAME = FileDelta(8, 0, 0, 0.0)
MOVED = FileDelta(8, 3, 0, 4.0)
SHAKEN = FileDelta(8, 3, 0, 3.0)


def judged(
    deltas: dict[str, FileDelta],
    own: dict[str, Presence] | None = None,
    pre: list[str] | None = None,
    post: list[str] | None = None,
) -> FolderComparison:
    return judge_folders(pre or list(deltas), post or list(deltas), deltas, own, 2.0)


def statuses(found: FolderComparison) -> dict[str, str]:
    return {result.name: result.status.value for result in found.files}


def test_a_dump_of_many_files_is_summed_up_as_identical_and_noise() -> None:
    kept = {f"kv{number}": SAME for number in range(107)}
    nodes = {f"node{number}": MOVED for number in range(7)}
    own = dict.fromkeys(kept, SAME) | dict.fromkeys(nodes, SHAKEN)
    found = judged(kept | nodes, own)
    assert (found.count(FileStatus.IDENTICAL), found.count(FileStatus.NOISE)) == (107, 7)
    assert found.exit_code is ExitCode.OK


def test_without_a_second_run_nothing_is_noise() -> None:
    found = judged({"kv": SAME, "node": MOVED})
    assert statuses(found) == {"kv": "identical", "node": "different"}
    assert found.exit_code is ExitCode.FAILED


def test_what_the_instrument_does_not_change_is_a_finding() -> None:
    found = judged({"kv": MOVED, "node": MOVED}, {"kv": SAME, "node": SHAKEN})
    assert statuses(found) == {"kv": "different", "node": "noise"}
    assert found.exit_code is ExitCode.FAILED


def test_missing_and_extra_files_are_findings() -> None:
    found = judged({"kv": SAME}, pre=["kv", "gone"], post=["kv", "new"])
    assert statuses(found) == {"kv": "identical", "gone": "missing", "new": "extra"}
    assert (len(found.findings), found.exit_code) == (2, ExitCode.FAILED)


def test_a_file_that_only_one_run_of_the_build_leaves_is_noise_wherever_it_is() -> None:
    own: dict[str, Presence] = {"kv": SAME, "gone": None, "new": None}
    found = judged({"kv": SAME}, own, pre=["kv", "gone"], post=["kv", "new"])
    assert statuses(found) == {"kv": "identical", "gone": "noise", "new": "noise"}


def test_nan_of_equal_bytes_is_a_finding() -> None:
    found = judged({"kv": FileDelta(8, 0, 2, 0.0)})
    assert (statuses(found), found.exit_code) == ({"kv": "nonfinite"}, ExitCode.FAILED)


def test_noise_that_moved_further_than_the_instrument_is_undecided() -> None:
    found = judged(
        {"kv": SAME, "logits": FileDelta(8, 3, 0, 4.79)}, {"kv": SAME, "logits": FileDelta(8, 3, 0, 0.25)}
    )
    (doubtful,) = found.doubtful
    assert (doubtful.name, doubtful.status, doubtful.beyond_noise) == ("logits", FileStatus.NOISE, 19.16)
    assert found.exit_code is ExitCode.UNDECIDED


def test_noise_alone_checks_nothing() -> None:
    assert judged({"node": MOVED}, {"node": SHAKEN}).exit_code is ExitCode.NOTHING_CHECKED


BROKEN = FileDelta(8, 8, 8, None)


def test_nan_in_any_run_of_a_noisy_file_is_a_finding() -> None:
    in_post = judged({"kv": SAME, "node": BROKEN}, {"kv": SAME, "node": SHAKEN})
    in_second_run = judged({"kv": SAME, "node": MOVED}, {"kv": SAME, "node": BROKEN})
    where_pre_has_no_file = judge_folders(
        ["kv"], ["kv", "node"], {"kv": SAME}, {"kv": SAME, "node": None}, 2.0, nonfinite_alone={"node"}
    )
    for found in (in_post, in_second_run, where_pre_has_no_file):
        assert statuses(found) == {"kv": "identical", "node": "nonfinite"}
        assert found.exit_code is ExitCode.FAILED


def test_a_noisy_file_that_both_runs_of_the_build_have_is_missing_where_post_lacks_it() -> None:
    found = judged({"kv": SAME}, {"kv": SAME, "node": SHAKEN}, pre=["kv", "node"], post=["kv"])
    assert statuses(found) == {"kv": "identical", "node": "missing"}
    assert found.exit_code is ExitCode.FAILED


def test_noise_explains_no_other_shape_unless_the_shape_is_noise() -> None:
    reshaped = FileDelta(8, 8, 0, None, unlike=1)
    found = judged({"kv": SAME, "node": reshaped}, {"kv": SAME, "node": SHAKEN})
    assert (statuses(found)["node"], found.exit_code) == ("different", ExitCode.FAILED)
    found = judged({"kv": SAME, "node": reshaped}, {"kv": SAME, "node": reshaped})
    assert (statuses(found)["node"], found.exit_code) == ("noise", ExitCode.OK)
