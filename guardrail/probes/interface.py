"""What a probe is."""

from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeVar

from guardrail.families import Control, ModelProfile
from guardrail.records.measurement import Measurement, Metric, Unmeasured
from guardrail.records.task import Outcome, Task
from guardrail.spec.guards import Guard
from guardrail.spec.profiles import DeviceProfile

G = TypeVar("G", bound=Guard)

Measured = Sequence[Measurement | Unmeasured]

Measuring = Generator[Sequence[Task], Sequence[Outcome], Measured]
"""A probe at work: yields tasks, is sent their outcomes in the same order, returns what it measured."""


@dataclass(frozen=True, slots=True)
class Context:
    """What a probe may know about the run besides its guard and subject."""

    models: Mapping[str, ModelProfile]
    device: DeviceProfile | None
    """Device profile to measure for, where a guard covers several architectures; None for all of them."""
    interpreted: bool
    """True where kernels run in Triton's interpreter because there is no GPU."""
    seed: int = 0
    """First seed of random inputs."""
    devices: Mapping[str, DeviceProfile] = field(default_factory=dict)
    """Device profiles that guards may name."""
    folder: str = "."
    """Folder of the guards file, where a user's commands run."""
    gpu_name: str | None = None
    """The GPU that kernels run on, as its driver names it; None where they are interpreted."""


class Probe(ABC, Generic[G]):
    """Measures subjects of some kinds under a profile."""

    metrics: ClassVar[tuple[Metric, ...]]
    guard: ClassVar[type[Guard]]
    """The keys that a guard of this probe may have."""
    subjects: ClassVar[tuple[type, ...]]
    """Kinds of subject that the probe can measure."""
    names_metrics: ClassVar[bool] = False
    """True where a guard names its metrics itself, under its key ``metrics``."""

    @abstractmethod
    def measure(self, guard: G, subject: Any, context: Context) -> Measuring:
        """Measure a subject.

        Args:
            guard: The guard that asks, with the probe's own keys.
            subject: A subject of one of the kinds in `subjects`.
            context: The run's surroundings.

        Yields:
            Tasks for worker processes; their outcomes are sent back in the same order.

        Returns:
            Measurements, and what could not be measured.
        """

    def controls(self, guard: G, subject: Any) -> Sequence[Control[Any]]:
        """List the negative controls that a guard's subject, or the guard itself, states."""
        stated: Sequence[Control[Any]] = getattr(subject, "controls", ())
        return stated

    def narrowed(self, guard: G, context: Context) -> G:
        """Shrink a guard to what a negative control needs to be seen by."""
        return guard
