"""Finds and loads the profiles beside a guards file and those that guardrail ships."""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TypeVar

from guardrail.spec.faults import ConfigurationError, Fault
from guardrail.spec.files import folder_of
from guardrail.spec.profiles import DeviceProfile, ModelFile, ProfileFile, Profiles
from guardrail.spec.suggest import did_you_mean, shortened
from guardrail.spec.validation import validate
from guardrail.spec.yaml_lines import Document, read_yaml

ProfileT = TypeVar("ProfileT", bound=ProfileFile)

_PACKAGE = Path(__file__).resolve().parents[1]
_CHECKOUT = _PACKAGE.parent


def profile_folders(guards_file: Path) -> tuple[Path, ...]:
    """List the folders that profiles are looked up in, first come first served.

    A wheel carries its profiles inside the package; a checkout keeps them at its top.

    Args:
        guards_file: The guards file, which need not exist.

    Returns:
        The ``profiles`` folder beside the guards file, then guardrail's own.
    """
    in_checkout = (_CHECKOUT / "pyproject.toml").is_file() and (_CHECKOUT / "profiles").is_dir()
    own = (_CHECKOUT if in_checkout else _PACKAGE) / "profiles"
    beside = folder_of(guards_file) / "profiles"
    return (own,) if beside == own else (beside, own)


def load_profiles(guards_file: Path, architectures: Collection[str]) -> Profiles:
    """Load every profile that a guards file may name; a user's own wins over a shipped one of its name.

    Args:
        guards_file: The guards file whose neighbouring ``profiles`` folder is looked into first.
        architectures: Names of the known architectures.

    Returns:
        The profiles.

    Raises:
        ConfigurationError: Profiles are wrong; all faults of all files.
    """
    faults: list[Fault] = []
    devices: dict[str, tuple[Document, DeviceProfile]] = {}
    models: dict[str, tuple[Document, ModelFile]] = {}
    for folder in profile_folders(guards_file):
        for document, device in _load(folder / "devices", DeviceProfile, faults):
            devices.setdefault(device.name, (document, device))
        for document, model in _load(folder / "models", ModelFile, faults):
            models.setdefault(model.name, (document, model))
    for document, device in devices.values():
        if device.arch not in architectures:
            hint = did_you_mean(device.arch, architectures)
            faults.append(document.fault(f"arch: unknown architecture {device.arch!r}{hint}", "arch"))
        if device.name in models:
            faults.append(
                document.fault(
                    f"a model profile is named {device.name!r} too; bounds could mean either", "name"
                )
            )
    for document, model in models.values():
        if model.drafter is not None and model.drafter not in models:
            hint = did_you_mean(model.drafter, models)
            faults.append(document.fault(f"drafter: no model profile {model.drafter!r}{hint}", "drafter"))
    if faults:
        raise ConfigurationError(faults)
    return Profiles(
        devices={name: device for name, (_, device) in devices.items()},
        models={name: model.profile() for name, (_, model) in models.items()},
        architectures=frozenset(architectures),
    )


def _load(folder: Path, kind: type[ProfileT], faults: list[Fault]) -> Iterator[tuple[Document, ProfileT]]:
    try:
        paths = sorted(folder.glob("*.y*ml"))
    except OSError as error:
        faults.append(Fault(str(folder), None, f"the folder cannot be read: {error.strerror}"))
        return
    for path in paths:
        if path.suffix != ".yaml":
            faults.append(
                Fault(str(path), None, f"profiles are read from '.yaml' files; rename it {path.stem}.yaml")
            )
            continue
        try:
            document = read_yaml(path, f"expected a profile that begins with 'name: {path.stem}'")
        except ConfigurationError as error:
            faults += error.faults
            continue
        profile, found = validate(kind, document, document.data)
        faults += found
        name = document.data.get("name")
        if isinstance(name, str) and name != path.stem:
            faults.append(
                document.fault(f"the profile is named {shortened(name)}, but its file {path.name}", "name")
            )
        elif profile is not None:
            yield document, profile
