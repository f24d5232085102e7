"""Folders of dumps on disk."""

from pathlib import Path

import numpy as np
import pytest

from guardrail.adapters.logits.folder_files import compare_folders, read_logits_pair
from guardrail.errors import MeasurementError, UsageError
from guardrail.logits.folders import FileDelta, FolderComparison
from helpers.logit_dumps import write


def fill(folder: Path, **files: object) -> Path:
    folder.mkdir()
    for name, content in files.items():
        if isinstance(content, str):
            (folder / f"{name}.txt").write_text(content)
        else:
            np.asarray(content, dtype="<f4").tofile(folder / f"{name}.f32")
    return folder


def statuses(found: FolderComparison) -> dict[str, str]:
    return {result.name: result.status.value for result in found.files}


def test_files_are_compared_by_what_they_hold(tmp_path: Path) -> None:
    pre = fill(tmp_path / "pre", kv0=[1, 2], kv1=[1, 2], kv2=[1, 2], notes="same", log="one")
    post = fill(tmp_path / "post", kv0=[1, 2], kv1=[1, 5], kv2=[1, 2, 3], notes="same", log="two")
    found = compare_folders(pre, post, None, 2.0)
    assert statuses(found) == {
        "kv0.f32": "identical",
        "kv1.f32": "different",
        "kv2.f32": "different",
        "log.txt": "different",
        "notes.txt": "identical",
    }
    largest = {result.name: result.delta.max_abs for result in found.files if result.delta}
    assert (largest["kv1.f32"], largest["kv2.f32"], largest["log.txt"]) == (3.0, None, None)


def test_metadata_does_not_make_a_dump_another(tmp_path: Path) -> None:
    for name, time in (("pre", "10:00"), ("post", "11:00")):
        (tmp_path / name).mkdir()
        write(tmp_path / name / "a.safetensors", [1.0, 2.0], provenance={"time": time})
    assert statuses(compare_folders(tmp_path / "pre", tmp_path / "post", None, 2.0)) == {
        "a.safetensors": "identical"
    }


def test_a_tensor_that_only_one_file_has_is_a_difference(tmp_path: Path) -> None:
    for name, tensors in (("pre", {}), ("post", {"kv": np.zeros(3)})):
        (tmp_path / name).mkdir()
        write(tmp_path / name / "a.safetensors", [1.0, 2.0], tensors)
    (result,) = compare_folders(tmp_path / "pre", tmp_path / "post", None, 2.0).files
    assert (result.status.value, result.delta and result.delta.differing) == ("different", 3)


def test_noise_comes_from_the_second_run_alone(tmp_path: Path) -> None:
    pre = fill(tmp_path / "pre", kv=[1, 2], node=[1, 2])
    post = fill(tmp_path / "post", kv=[1, 2], node=[3, 2])
    own = fill(tmp_path / "own", kv=[1, 2], node=[1, 4])
    assert statuses(compare_folders(pre, post, own, 2.0)) == {"kv.f32": "identical", "node.f32": "noise"}


def test_folders_that_cannot_be_compared_are_named(tmp_path: Path) -> None:
    pre, empty = fill(tmp_path / "pre", kv=[1]), fill(tmp_path / "empty")
    with pytest.raises(UsageError, match="there is no such folder"):
        compare_folders(pre, tmp_path / "none", None, 2.0)
    with pytest.raises(UsageError, match="the same folder is given twice"):
        compare_folders(pre, empty, tmp_path / "empty" / ".." / "pre", 2.0)
    with pytest.raises(MeasurementError, match="holds no file"):
        compare_folders(empty, pre, None, 2.0)


def test_rows_of_logits_are_found_for_a_picture(tmp_path: Path) -> None:
    pre, post = (fill(tmp_path / name, logits_decode=[1, 2], kv0=[1]) for name in ("pre", "post"))
    label, (one, other) = next(read_logits_pair(pre / "logits_decode.f32", post / "logits_decode.f32"))
    assert (label, one.tolist(), other.tolist()) == ("", [1.0, 2.0], [1.0, 2.0])
    assert list(read_logits_pair(pre / "kv0.f32", post / "kv0.f32")) == []


def test_nan_is_found_where_it_would_be_noise_and_no_delta_is_made_up_for_it(tmp_path: Path) -> None:
    nan = float("nan")
    pre = fill(tmp_path / "pre", kv=[1, 2], node=[1, 2])
    post = fill(tmp_path / "post", kv=[1, 2], node=[nan, nan], late=[nan], text="nan")
    own = fill(tmp_path / "own", kv=[1, 2], node=[1, 4], late=[3], text="NaN")
    found = compare_folders(pre, post, own, 2.0)
    assert statuses(found) == {
        "kv.f32": "identical",
        "late.f32": "nonfinite",
        "node.f32": "nonfinite",
        "text.txt": "noise",
    }
    deltas = {result.name: result.delta for result in found.files}
    assert deltas["node.f32"] == FileDelta(elements=2, differing=2, nonfinite=2, max_abs=None)


def test_a_shape_that_changes_is_no_noise(tmp_path: Path) -> None:
    pre = fill(tmp_path / "pre", kv=[1, 2], node=[1, 2])
    post = fill(tmp_path / "post", kv=[1, 2], node=[1, 2, 3])
    own = fill(tmp_path / "own", kv=[1, 2], node=[1, 4])
    assert statuses(compare_folders(pre, post, own, 2.0))["node.f32"] == "different"
