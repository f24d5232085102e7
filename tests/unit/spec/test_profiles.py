"""Profiles: those that ship, and a user's own beside the guards file."""

from collections.abc import Callable
from pathlib import Path

import pytest

import guardrail.spec.profile_files as profile_files
from guardrail.families.models import ModelProfile, Tensor
from guardrail.spec.faults import ConfigurationError
from guardrail.spec.profile_files import load_profiles, profile_folders

ARCHITECTURES = frozenset({"sm_86", "sm_89", "sm_90", "sm_121"})

DEVICE = """\
name: mine
title: My card
arch: sm_90
sm_count: 132
l2_bytes: 62914560
dram_bytes_per_second: 4800000000000
memory_bytes: 150754820096
device_name: My card
"""
MODEL = "name: small\nquery_heads: 8\nkv_heads: 2\nhead_size: 64\n"


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str], Path]:
    def file(name: str, text: str) -> Path:
        path = tmp_path / "profiles" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    return file


def _faults(folder: Path) -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        load_profiles(folder / "guards.yaml", ARCHITECTURES)
    return [str(fault).removeprefix(f"{folder}/profiles/") for fault in caught.value.faults]


def test_the_shipped_devices_have_their_published_figures(tmp_path: Path) -> None:
    devices = load_profiles(tmp_path / "guards.yaml", ARCHITECTURES).devices
    figures = {
        name: (d.arch, d.sm_count, d.l2_bytes / 2**20, d.dram_bytes_per_second / 1e9, d.memory_bytes)
        for name, d in devices.items()
    }
    assert figures == {
        "rtx3090": ("sm_86", 82, 6, 936.2, 24 * 2**30),
        "rtx4090": ("sm_89", 128, 72, 1008, 24 * 2**30),
        "gb10": ("sm_121", 48, 24, 273, 128 * 10**9),
        "h200": ("sm_90", 132, 60, 4800, 143771 * 2**20),
    }


def test_the_shipped_models_have_their_published_geometry(tmp_path: Path) -> None:
    models = load_profiles(tmp_path / "guards.yaml", ARCHITECTURES).models
    figures = {
        name: (m.layers, m.hidden_size, m.query_heads, m.kv_heads, m.head_size, m.vocabulary)
        for name, m in models.items()
    }
    assert figures == {
        "qwen2.5-7b": (28, 3584, 28, 4, 128, 152064),
        "qwen2.5-14b": (48, 5120, 40, 8, 128, 152064),
        "qwen3.8-27b": (64, 5120, 24, 4, 256, 248320),
        "qwen3.8-27b-dflash2": (5, 5120, 32, 8, 128, None),
        "tiny-decode": (2, 256, 4, 2, 64, 512),
    }
    assert models["qwen3.8-27b"].attention_layers == 16
    assert models["qwen3.8-27b"].drafter == "qwen3.8-27b-dflash2"
    assert models["qwen3.8-27b-dflash2"].scratch_head_size == 256


@pytest.mark.parametrize(("name", "streamed"), [("qwen2.5-7b", 4_452), ("qwen2.5-14b", 8_683)])
def test_tensors_add_up_to_the_bytes_a_decoded_token_streams(
    tmp_path: Path, name: str, streamed: int
) -> None:
    block_bytes = {"q4_k": 144, "q6_k": 224}  # q6_k padded from 210 bytes for aligned loads
    tensors = load_profiles(tmp_path / "guards.yaml", ARCHITECTURES).models[name].tensors
    total = sum(t.layers * t.rows * t.columns // 256 * block_bytes[t.quantization] for t in tensors)
    assert total // 10**6 == streamed


@pytest.mark.parametrize("name", ["qwen2.5-7b", "qwen2.5-14b"])
def test_six_bit_layers_follow_the_mixed_rule(tmp_path: Path, name: str) -> None:
    model = load_profiles(tmp_path / "guards.yaml", ARCHITECTURES).models[name]
    n = model.layers
    assert n is not None
    six = sum(i < n // 8 or i >= 7 * n // 8 or (i - n // 8) % 3 == 2 for i in range(n))
    layers = {(t.name, t.quantization): t.layers for t in model.tensors}
    for tensor in ("attn_v", "ffn_down"):
        assert (layers[tensor, "q6_k"], layers[tensor, "q4_k"]) == (six, n - six)


def test_a_users_profiles_are_added(tmp_path: Path, write: Callable[[str, str], Path]) -> None:
    write("devices/mine.yaml", DEVICE)
    write("models/small.yaml", MODEL + "tensors: [{name: out, rows: 4, columns: 8, quantization: f16}]\n")
    profiles = load_profiles(tmp_path / "guards.yaml", ARCHITECTURES)
    assert profiles.devices["mine"].title == "My card"
    assert profiles.models["small"] == ModelProfile(
        "small", None, None, 8, 2, 64, None, tensors=(Tensor("out", 4, 8, "f16"),)
    )
    assert {"mine", "small", "h200", "sm_121"} <= profiles.names()


def test_a_users_profile_wins_over_a_shipped_one(tmp_path: Path, write: Callable[[str, str], Path]) -> None:
    write("devices/h200.yaml", DEVICE.replace("mine", "h200").replace("132", "66"))
    assert load_profiles(tmp_path / "guards.yaml", ARCHITECTURES).devices["h200"].sm_count == 66


@pytest.mark.parametrize(
    ("file", "text", "expected"),
    [
        (
            "devices/mine.yaml",
            DEVICE.replace("mine", "yours"),
            "1: the profile is named 'yours', but its file mine.yaml",
        ),
        (
            "devices/mine.yaml",
            DEVICE.replace("sm_90", "sm_09"),
            "3: arch: unknown architecture 'sm_09'; did you mean 'sm_90'?",
        ),
        ("devices/mine.yaml", DEVICE.replace("132", "0"), "4: sm_count must be greater than 0"),
        (
            "devices/mine.yaml",
            DEVICE.replace("132", "132.0"),
            "4: sm_count must be a whole number, not the number 132.0",
        ),
        (
            "devices/mine.yaml",
            DEVICE.replace("132", "'132'"),
            "4: sm_count must be a whole number, not the text '132'",
        ),
        (
            "devices/mine.yaml",
            DEVICE.replace("l2_bytes", "l2_byte"),
            "5: unknown key 'l2_byte'; did you mean 'l2_bytes'?",
        ),
        ("devices/mine.yaml", "", "1: the file is empty; expected a profile that begins with 'name: mine'"),
        ("models/small.yaml", MODEL.replace("8", "7"), "1: 7 query heads cannot share 2 KV heads evenly"),
        (
            "models/small.yaml",
            MODEL + "layers: 4\nattention_layers: 5\n",
            "1: 5 attention layers are more than 4 layers",
        ),
        (
            "models/small.yaml",
            MODEL + "drafter: h200\n",
            "5: drafter: no model profile 'h200'; known: qwen2.5-14b",
        ),
        (
            "models/small.yaml",
            MODEL + "vocabulary:\n",
            "5: vocabulary has no value; give it one or remove it",
        ),
        (
            "models/small.yaml",
            MODEL + "tensors:\n- {name: a, rows: 1, colums: 2, quantization: q4_k}\n",
            "6: tensors[0]: unknown key 'colums'; did you mean 'columns'?",
        ),
        ("models/h200.yaml", MODEL.replace("small", "h200"), "a model profile is named 'h200' too"),
    ],
)
def test_a_wrong_profile_is_refused_on_its_line(
    tmp_path: Path, write: Callable[[str, str], Path], file: str, text: str, expected: str
) -> None:
    write(file, text)
    assert any(expected in fault for fault in _faults(tmp_path))


def test_all_faults_of_all_files_are_reported_at_once(
    tmp_path: Path, write: Callable[[str, str], Path]
) -> None:
    write("devices/mine.yaml", DEVICE.replace("132", "0"))
    write("devices/other.yml", DEVICE)
    write("models/small.yaml", MODEL.replace("64", "-1"))
    assert _faults(tmp_path) == [
        "devices/mine.yaml:4: sm_count must be greater than 0",
        "devices/other.yml: profiles are read from '.yaml' files; rename it other.yaml",
        "models/small.yaml:4: head_size must be greater than 0",
    ]


def test_a_checkout_looks_into_its_own_folder_once() -> None:
    (own,) = profile_folders(Path(profile_files.__file__).parents[2] / "guards.yaml")
    assert (own / "devices" / "h200.yaml").is_file()


def test_an_installed_package_carries_its_profiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profile_files, "_PACKAGE", tmp_path / "site" / "guardrail")
    monkeypatch.setattr(profile_files, "_CHECKOUT", tmp_path / "site")
    assert profile_folders(tmp_path / "work" / "guards.yaml") == (
        tmp_path / "work" / "profiles",
        tmp_path / "site" / "guardrail" / "profiles",
    )
