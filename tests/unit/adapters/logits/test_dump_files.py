from pathlib import Path

import numpy as np
import pytest

from guardrail.adapters.logits.dump_files import Layout, check_output, read_dumps
from guardrail.errors import MeasurementError, UsageError
from guardrail.logits.dump import Dump
from helpers.logit_dumps import PROMPTS, write

ANY = Layout()


def read_dump(path: Path, layout: Layout) -> Dump:
    (found,) = read_dumps([path], layout)
    return found


def test_a_dump_is_read_back_to_the_byte_with_its_identity(tmp_path: Path) -> None:
    logits = np.array([[1.0, np.nan, -0.0]], dtype=np.float32)
    kv = np.arange(6, dtype=np.uint8).reshape(2, 3)
    path = write(tmp_path / "a.safetensors", logits, {"blk.0.kv": kv}, arms=("output: v1",), step=0)
    found = read_dump(path, ANY)
    assert found.logits.tobytes() == logits.tobytes()
    assert found.tensors["blk.0.kv"].tolist() == kv.tolist()
    assert found.identity is not None
    assert (found.prompts, found.identity.arms) == (PROMPTS, ("output: v1",))


def test_a_raw_file_takes_a_shape_or_the_length_of_a_row(tmp_path: Path) -> None:
    path = tmp_path / "logits_decode.f32"
    np.arange(6, dtype="<f4").tofile(path)
    assert read_dump(path, ANY).logits.shape == (1, 6)
    assert read_dump(path, Layout(vocabulary=3)).logits.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert read_dump(path, Layout(shape=(3, 2))).logits.shape == (3, 2)
    with pytest.raises(MeasurementError, match=r"6 elements do not fill the shape \[-1, 4\]"):
        read_dump(path, Layout(vocabulary=4))


def test_a_stated_shape_is_that_of_raw_files_alone(tmp_path: Path) -> None:
    raw, array = tmp_path / "logits.f32", tmp_path / "a.npy"
    np.arange(6, dtype="<f4").tofile(raw)
    np.save(array, np.zeros((2, 3), np.float32))
    shapes = [found.logits.shape for found in read_dumps([array, raw], Layout(shape=(1, 6)))]
    assert shapes == [(2, 3), (1, 6)]
    with pytest.raises(MeasurementError, match=r"logits\.f32: 6 elements do not fill the shape \[1, 5\]"):
        read_dumps([array, raw], Layout(shape=(1, 5)))
    for layout, option in ((Layout(shape=(1, 6)), "--shape"), (Layout(vocabulary=6), "--vocabulary")):
        with pytest.raises(UsageError, match=rf"{option} is for a raw \.f32 file.*a\.npy states its own"):
            read_dump(array, layout)


def test_half_precision_is_widened_and_a_double_that_would_be_rounded_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([1.5, 2.0], dtype=np.float16))
    assert read_dump(tmp_path / "a.npy", ANY).logits.dtype == np.float32
    np.save(tmp_path / "b.npy", np.array([1.5, 2.0]))
    assert read_dump(tmp_path / "b.npy", ANY).logits.tolist() == [[1.5, 2.0]]
    np.save(tmp_path / "c.npy", np.array([0.1, 1e300]))
    with pytest.raises(MeasurementError, match="no fp32 numbers"):
        read_dump(tmp_path / "c.npy", ANY)


@pytest.mark.parametrize(
    ("array", "reason"),
    [
        (np.zeros((1, 2, 3), np.float32), r"logits of shape \[1, 2, 3\]"),
        (np.zeros((1, 0), np.float32), r"logits of shape \[1, 0\]"),
        (np.zeros(3, np.int64), "logits are int64"),
    ],
)
def test_what_cannot_be_logits_of_one_step_is_an_error(
    tmp_path: Path, array: np.ndarray, reason: str
) -> None:
    np.save(tmp_path / "a.npy", array)
    with pytest.raises(MeasurementError, match=reason):
        read_dump(tmp_path / "a.npy", ANY)


def test_the_tensor_of_the_logits_must_be_known(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, first=np.zeros(2, np.float32), second=np.ones(2, np.float32))
    with pytest.raises(MeasurementError, match="it has first, second; name one with --tensor"):
        read_dump(path, ANY)
    assert read_dump(path, Layout(tensor="second")).logits.tolist() == [[1.0, 1.0]]
    with pytest.raises(MeasurementError, match="there is no tensor 'third'"):
        read_dump(path, Layout(tensor="third"))


def test_prompts_of_other_sequences_are_not_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="1 prompts and logits of 2 sequences"):
        write(tmp_path / "a.safetensors", [[1.0], [2.0]])
    assert not (tmp_path / "a.safetensors").exists()


def test_an_output_is_checked_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"expected a name that ends with \.safetensors"):
        check_output(tmp_path / "a.npy")
    with pytest.raises(UsageError, match="there is no folder"):
        check_output(tmp_path / "none" / "a.safetensors")
