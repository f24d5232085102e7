"""The documents say what the code does."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from guardrail import catalog, registry
from guardrail.errors import ExitCode
from guardrail.spec.guards import Guard
from guardrail.spec.profiles import DeviceProfile, ModelFile

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
GUARDS = (ROOT / "docs" / "guards.md").read_text()
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text()
PROBES = sorted(registry.probes())


def section(document: str, title: str) -> str:
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", document, re.MULTILINE | re.DOTALL)
    assert found, f"there is no section {title!r}"
    return found[1]


def rows(text: str, heading: str) -> list[tuple[str, ...]]:
    """Read the table whose first column has a heading, without the marks of code."""
    table = re.search(rf"^\| {heading} \|.*\n\| ---.*\n((?:\|.*\n)+)", text, re.MULTILINE)
    assert table, f"there is no table of {heading!r}"
    return [
        tuple(cell.strip().strip("`").replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1])
        for line in table[1].splitlines()
    ]


def test_the_guards_schema_is_the_one_that_the_code_publishes() -> None:
    written = (ROOT / "docs" / "guards.schema.json").read_text()
    published = json.dumps(catalog.schemas()["guards"], indent=2) + "\n"
    assert written == published, "run: guardrail schema guards > docs/guards.schema.json"


def test_the_command_that_writes_the_schema_prints_the_same() -> None:
    command = [sys.executable, "-m", "guardrail", "schema", "guards"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert printed == (ROOT / "docs" / "guards.schema.json").read_text()


def test_every_probe_has_a_section_and_no_other_has() -> None:
    assert sorted(re.findall(r"^## Probe `(\w+)`$", GUARDS, re.MULTILINE)) == PROBES


@pytest.mark.parametrize("probe", PROBES)
def test_the_metrics_of_a_probe_are_those_that_the_command_lists(probe: str) -> None:
    listed = [metric[1:] for metric in catalog.metrics() if metric[0] == probe]
    text = section(GUARDS, f"Probe `{probe}`")
    assert ("| metric |" in text) == bool(listed)
    assert (rows(text, "metric") if listed else []) == listed


@pytest.mark.parametrize("probe", PROBES)
def test_the_keys_of_a_probe_are_those_that_its_guards_have(probe: str) -> None:
    fields = registry.probes()[probe].guard.model_fields
    keys = [(name, field.description) for name, field in fields.items() if name not in Guard.model_fields]
    text = section(GUARDS, f"Probe `{probe}`")
    assert ("| key |" in text) == bool(keys)
    documented = rows(text, "key") if keys else []
    assert [(name, meaning) for name, _, meaning in documented] == keys


def test_the_keys_of_every_guard_are_documented() -> None:
    documented = rows(section(GUARDS, "Keys of every guard"), "key")
    assert sorted(name for name, _ in documented) == sorted(Guard.model_fields)


def test_the_keys_of_device_profiles_are_documented() -> None:
    documented = rows(section(GUARDS, "Profiles"), "device key")
    fields = DeviceProfile.model_fields.items()
    assert sorted(documented) == sorted((name, field.description) for name, field in fields)


def test_the_keys_of_model_profiles_are_documented() -> None:
    documented = rows(section(GUARDS, "Profiles"), "model key")
    names = [name.strip("`") for keys, _ in documented for name in keys.split(", ")]
    assert sorted(names) == sorted(ModelFile.model_fields)


def test_the_exit_codes_are_documented() -> None:
    assert [int(code) for code, _ in rows(section(GUARDS, "Exit codes"), "code")] == list(ExitCode)


def test_the_example_of_a_guards_file_is_valid(tmp_path: Path) -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", GUARDS, re.DOTALL)
    path = tmp_path / "guards.yaml"
    path.write_text(example)
    command = [sys.executable, "-m", "guardrail", "list", "guards", "--guards", str(path)]
    listed = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (listed.returncode, listed.stderr) == (0, "")
    assert "q6k-gate-covers" in listed.stdout


def test_the_layers_are_those_that_the_import_contract_proves() -> None:
    (documented,) = re.findall(r"```layers\n(.*?)```", ARCHITECTURE, re.DOTALL)
    contracts = PROJECT["tool"]["importlinter"]["contracts"]
    (layers,) = [contract["layers"] for contract in contracts if contract["type"] == "layers"]
    assert documented.splitlines() == layers


def test_the_folder_map_names_every_part_of_the_package() -> None:
    documented = [path for path, _ in rows(section(ARCHITECTURE, "Folders"), "path")]
    package = ROOT / "guardrail"
    parts = [
        f"guardrail/{part.name}{'/' if part.is_dir() else ''}"
        for part in package.iterdir()
        if part.name != "__pycache__"
    ]
    assert sorted(path for path in documented if path.startswith("guardrail/")) == sorted(parts)
    assert [path for path in documented if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("extra", [None, "gpu", "cuda", "vllm", "dev"])
def test_every_dependency_is_justified(extra: str | None) -> None:
    project = PROJECT["project"]
    stated = project["optional-dependencies"][extra] if extra else project["dependencies"]
    names = [re.match(r"[\w-]+(\[\w+\])?", requirement)[0] for requirement in stated]
    text = (ROOT / "docs" / "dependencies.md").read_text()
    documented = rows(section(text, f"`[{extra}]`" if extra else "Base"), "package")
    assert [name for name, _ in documented] == names


def test_the_constraints_name_one_version_of_each_dependency() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pinned = dict(line.split("==") for line in lines if not line.startswith("#"))
    assert (pinned["torch"], pinned["triton"]) == ("2.13.0", "3.7.1")
    extras = PROJECT["project"]["optional-dependencies"]
    stated = [*PROJECT["project"]["dependencies"], *extras["gpu"], *extras["cuda"], *extras["dev"]]
    names = {re.match(r"[\w-]+", requirement)[0].lower() for requirement in stated}
    assert names - set(pinned) == {PROJECT["project"]["name"]}
    assert [version for version in pinned.values() if "+" in version] == []


@pytest.mark.parametrize("name", ["*.md", "docs/*.md", "examples/*/*.md"])
def test_links_to_files_lead_somewhere(name: str) -> None:
    documents = list(ROOT.glob(name))
    assert documents
    links = [
        (path, link) for path in documents for link in re.findall(r"\]\(([^)#]+)[^)]*\)", path.read_text())
    ]
    assert [link for path, link in links if "://" not in link and not (path.parent / link).exists()] == []
