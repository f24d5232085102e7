"""Files of tensors, good and broken."""

import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from guardrail.adapters.logits.formats import read_file
from guardrail.errors import MeasurementError, ToolMissingError, UsageError

VALUES = np.array([[1.0, -2.5, 3.0]], dtype=np.float32)


def test_a_raw_file_is_little_endian_fp32(tmp_path: Path) -> None:
    (tmp_path / "a.f32").write_bytes(bytes.fromhex("0000803f000020c000004040"))
    found = read_file(tmp_path / "a.f32").tensors[""]
    assert found.tolist() == [1.0, -2.5, 3.0]


def test_numpy_files_are_read(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", VALUES)
    np.savez(tmp_path / "b.npz", logits=VALUES, kv=np.arange(3))
    assert read_file(tmp_path / "a.npy").tensors[""].tolist() == VALUES.tolist()
    both = read_file(tmp_path / "b.npz").tensors
    assert {name: array.tolist() for name, array in both.items()} == {
        "logits": VALUES.tolist(),
        "kv": [0, 1, 2],
    }


def test_safetensors_of_another_writer_are_read_with_their_metadata(tmp_path: Path) -> None:
    tensors = {
        "half": torch.tensor([1.5, -2.0], dtype=torch.float16),
        "brain": torch.tensor([[1.0, -2.5], [3.140625, 1e30]], dtype=torch.bfloat16),
        "bytes": torch.tensor([7, 255], dtype=torch.uint8),
    }
    save_file(tensors, tmp_path / "a.safetensors", {"made": "elsewhere"})
    found = read_file(tmp_path / "a.safetensors")
    assert found.metadata == {"made": "elsewhere"}
    assert found.tensors["half"].dtype == np.float16
    assert found.tensors["brain"].tolist() == tensors["brain"].float().tolist()
    assert found.tensors["bytes"].tolist() == [7, 255]


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.f32", b"\0" * 7, "7 bytes are no whole number of fp32 values"),
        ("a.npy", b"not numpy", "not a readable .npy file"),
        ("a.npz", b"not a zip", "not a readable .npz file"),
        ("a.safetensors", b"\x09\0\0\0\0\0\0\0{", "not a readable .safetensors file"),
        ("a.safetensors", b"", "not a readable .safetensors file"),
        ("a.bin", b"", "expected a file that ends with .npy, .npz, .safetensors, .f32"),
    ],
)
def test_a_file_that_is_not_what_its_ending_says_is_an_error(
    tmp_path: Path, name: str, content: bytes, reason: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(MeasurementError) as caught:
        read_file(tmp_path / name)
    assert str(tmp_path / name) in str(caught.value)
    assert reason in str(caught.value)


def test_a_pickle_and_text_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(MeasurementError, match="not a readable"):
        read_file(tmp_path / "a.npy")
    np.save(tmp_path / "b.npy", np.array(["text"]))
    with pytest.raises(MeasurementError, match="expected numbers"):
        read_file(tmp_path / "b.npy")


def test_a_missing_file_and_a_missing_library_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.safetensors", "a"):
        with pytest.raises(UsageError, match=f"{name}: there is no such file"):
            read_file(tmp_path / name)
    with pytest.raises(UsageError, match="this is a folder, not a file"):
        read_file(tmp_path)
    (tmp_path / "a.safetensors").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "safetensors", None)
    with pytest.raises(ToolMissingError, match=r"safetensors is not installed.*gpu-guardrail\[gpu\]"):
        read_file(tmp_path / "a.safetensors")
