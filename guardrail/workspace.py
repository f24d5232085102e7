"""What a guards file names, joined: guards, probes, subjects, profiles, and where their tasks run."""

import fnmatch
import functools
import os
import random
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from guardrail import registry
from guardrail.adapters.device import Gpu, executing_gpu
from guardrail.adapters.gpu_lock import GpuLock
from guardrail.adapters.surroundings import knobs, versions
from guardrail.adapters.vllm.census_file import CENSUS
from guardrail.adapters.vllm.plugin import SWITCH
from guardrail.adapters.workers import WorkerPool
from guardrail.compiled.architectures import ARCHITECTURES
from guardrail.compiled.file_subject import FileSubject
from guardrail.engine import Job
from guardrail.errors import UsageError
from guardrail.families import Family
from guardrail.probes.interface import Context, Probe
from guardrail.probes.references import modules_of
from guardrail.records.task import Task
from guardrail.sources import combined_hash
from guardrail.spec.files import folder_of
from guardrail.spec.guards import Guard, GuardKind, LoadedGuard
from guardrail.spec.load import load_guards
from guardrail.spec.profile_files import load_profiles
from guardrail.spec.profiles import DeviceProfile, Profiles
from guardrail.spec.suggest import did_you_mean
from guardrail.store.cache import (
    CACHE_VARIABLE,
    CachingRunner,
    MeasurementCache,
    cache_folder,
    canonical,
)
from guardrail.store.evidence import anchor_fault


@dataclass(frozen=True, slots=True)
class Selection:
    """Which guards of which file a command is about."""

    guards_file: Path
    only: tuple[str, ...] = ()
    """Patterns of guard ids; all guards where empty."""
    profile: str | None = None
    """Device profile to measure for, where a guard covers several."""
    required_profiles: tuple[str, ...] = ()
    """Device profiles that this machine must have."""
    fresh: bool = False
    """Measure again what the cache holds, on new random inputs."""
    debug: bool = False
    """Show the traceback of every task that fails."""
    strict: bool = False
    """Fail where a measurement has left the bound derived from its anchor behind."""


@dataclass(frozen=True, slots=True)
class Workspace:
    """A guards file with everything that its guards refer to."""

    selection: Selection
    probes: Mapping[str, Probe[Any]]
    families: Mapping[str, Family]
    profiles: Profiles
    guards: tuple[LoadedGuard, ...]
    gpu: Gpu | None = field(default_factory=executing_gpu)

    @property
    def folder(self) -> Path:
        """The guards file's folder, against which files and modules of the user's are found."""
        return folder_of(self.selection.guards_file)

    def selected(self) -> list[LoadedGuard]:
        """Pick the guards whose ids match the selection.

        Raises:
            UsageError: A pattern matches no guard.
        """
        for pattern in self.selection.only:
            if not any(fnmatch.fnmatchcase(loaded.guard.id, pattern) for loaded in self.guards):
                hint = did_you_mean(pattern, (loaded.guard.id for loaded in self.guards))
                raise UsageError(f"{self.selection.guards_file} has no guard {pattern!r}{hint}")
        return [loaded for loaded in self.guards if _matches(loaded.guard.id, self.selection.only)]

    def subject(self, name: str, kinds: tuple[type, ...]) -> Any:
        """Find a subject: a file beside the guards file where one of that name exists, else a family's.

        Raises:
            UsageError: There is no such subject, or its file cannot be read.
        """
        if FileSubject in kinds:
            try:
                if self._is_file(name):
                    return FileSubject.read(self.folder / name)
            except OSError as error:
                raise UsageError(f"{self.folder / name}: cannot be read: {error.strerror}") from error
        stated = tuple(kind for kind in kinds if kind is not FileSubject)
        if not stated:
            raise UsageError(f"there is no file {self.folder / name}, and the probe measures files alone")
        return registry.find_subject(name, self.families, stated)

    def knobs(self) -> dict[str, str]:
        """Collect the environment variables in force that can change a measurement of the selected guards."""
        return knobs(self.family_knobs())

    def known_knobs(self) -> frozenset[str]:
        """Name the environment variables that guardrail or a family of the selected guards reads."""
        return frozenset({*known_knobs(self.families), *self.family_knobs()})

    def family_knobs(self) -> dict[str, str]:
        """Give the environment variables that families of the selected guards read, with their meaning."""
        guards = [loaded.guard for loaded in self.selected()]
        names = {name for guard in guards for name in (guard.subject, guard.control) if name}
        families = [
            *self.families.values(),
            *(registry.find_family(name, self.families) for name in names if not self._is_file(name)),
        ]
        return {name: meaning for family in families for name, meaning in family.knobs.items()}

    def _is_file(self, name: str) -> bool:
        return (self.folder / name).exists()

    def jobs(self) -> list[Job]:
        """Join each selected guard with its probe, its subject and the hash of what it depends on."""
        jobs = []
        for loaded in self.selected():
            probe = self.probes[loaded.guard.probe]
            subject = self.subject(loaded.guard.subject, probe.subjects)
            named = [
                *(self.profiles.models[name] for name in getattr(loaded.guard, "models", ())),
                *(self.profiles.devices[name].model_dump() for name in getattr(loaded.guard, "devices", ())),
                *(self.subject(name, (FileSubject,)).sha256 for name in _further_files(loaded.guard)),
            ]
            digest = _subject_hash(loaded.guard, subject, named, self.selection.profile)
            jobs.append(Job(loaded, probe, subject, digest))
        return jobs

    def context(self) -> Context:
        """Describe the run's surroundings to the probes."""
        return Context(
            models=self.profiles.models,
            device=self._device_profile(),
            interpreted=self.gpu is None,
            seed=random.SystemRandom().randrange(2**31) if self.selection.fresh else 0,
            devices=self.profiles.devices,
            folder=str(self.folder),
            gpu_name=self.gpu.name if self.gpu else None,
        )

    def runner(self) -> CachingRunner:
        """Make the runner that every task of this run goes through."""
        tracebacks = sys.stderr if self.selection.debug else None
        lock = GpuLock(self.gpu.uuid, sys.stderr) if self.gpu else None
        pool = WorkerPool(
            [str(self.folder)], len(os.sched_getaffinity(0)), self.gpu is None, tracebacks, lock
        )
        surroundings = canonical([versions(), self.knobs(), self.gpu])
        return CachingRunner(
            pool,
            MeasurementCache(cache_folder()),
            functools.partial(_task_key, surroundings),
            self.selection.fresh,
        )

    def absent_profiles(self) -> tuple[str, ...]:
        """Name the required device profiles that are not this machine's.

        Raises:
            UsageError: A required profile does not exist.
        """
        required = [self._known_device(name) for name in self.selection.required_profiles]
        return tuple(
            device.name for device in required if self.gpu is None or device.device_name != self.gpu.name
        )

    def _device_profile(self) -> DeviceProfile | None:
        return self._known_device(self.selection.profile) if self.selection.profile else None

    def _known_device(self, name: str) -> DeviceProfile:
        if name not in self.profiles.devices:
            hint = did_you_mean(name, self.profiles.devices)
            raise UsageError(f"there is no device profile {name!r}{hint}")
        return self.profiles.devices[name]


def open_workspace(selection: Selection) -> Workspace:
    """Load a guards file and everything that it names.

    Raises:
        ConfigurationError: Something in the guards file or a profile is wrong; everything that is, at once.
        UsageError: A family or probe cannot be loaded.
    """
    folder = folder_of(selection.guards_file)
    if str(folder) not in sys.path:
        # A family that a user keeps beside the guards file is imported by name.
        sys.path.insert(0, str(folder))
    probes, families = registry.probes(), registry.families()
    profiles = load_profiles(selection.guards_file, frozenset(ARCHITECTURES))

    def subject_fault(guard: Guard) -> str | None:
        try:
            workspace.subject(guard.subject, probes[guard.probe].subjects)
            if guard.control is not None:
                workspace.subject(guard.control, probes[guard.probe].subjects)
            for name in _further_files(guard):
                workspace.subject(name, (FileSubject,))
        except UsageError as error:
            return str(error)
        return None

    workspace = Workspace(selection, probes, families, profiles, ())
    guards = load_guards(
        selection.guards_file,
        guard_kinds(probes),
        profiles,
        subject_fault,
        functools.partial(anchor_fault, folder),
    )
    return Workspace(selection, probes, families, profiles, guards, workspace.gpu)


def known_knobs(families: Mapping[str, Family]) -> frozenset[str]:
    """Name the environment variables that guardrail and these families read."""
    read = (name for family in families.values() for name in family.knobs)
    return frozenset({CACHE_VARIABLE, SWITCH, CENSUS, *read})


def guard_kinds(probes: Mapping[str, Probe[Any]]) -> dict[str, GuardKind]:
    """List what each probe asks of its guards."""
    return {
        name: GuardKind(probe.guard, {metric.name: metric for metric in probe.metrics}, probe.names_metrics)
        for name, probe in probes.items()
    }


def _matches(guard_id: str, patterns: Sequence[str]) -> bool:
    return not patterns or any(fnmatch.fnmatchcase(guard_id, pattern) for pattern in patterns)


def _task_key(surroundings: str, task: Task) -> str:
    """Hash everything that a task's outcome depends on."""
    modules = (task.function.partition(":")[0], *task.modules)
    return combined_hash(modules, task.function, task.environment, canonical(task.arguments), surroundings)


def _further_files(guard: Guard) -> tuple[str, ...]:
    """Name the files that a guard reads beside its subject."""
    against: str | None = getattr(guard, "against", None)
    return (*(() if against is None else (against,)), *getattr(guard, "further_files", ()))


def _subject_hash(guard: Guard, subject: Any, profiles: Sequence[Any], profile: str | None) -> str:
    """Hash all of a subject that can change what is measured for it, and what the guard asks to measure."""
    asked = canonical([guard.model_dump(mode="json", exclude={"title", "require", "control"}), profile])
    if isinstance(subject, FileSubject):
        # Not its path: a report judged elsewhere is about the same file under another folder.
        return combined_hash((), subject.sha256, canonical(profiles), asked)
    # A guard may name further code, as a reference of its own.
    modules = modules_of((*subject.references, *getattr(guard, "references", ())))
    return combined_hash(modules, canonical(subject), canonical(profiles), asked)
