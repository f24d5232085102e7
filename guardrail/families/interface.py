"""What a kernel family states about itself: its manifest.

A manifest imports neither torch nor triton. Everything that does is named by a `Reference` and resolved in
a worker process. The words are those of ``docs/architecture.md``: a *gate* picks an *arm* for a *case*; an
arm *covers* some of the case's *work units*; an *operation* is what its arms compute; a *control* is a
subject with one deliberate defect that must turn a guard red.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

Reference: TypeAlias = str
"""``"package.module:attribute"``, resolved only when it is used."""

Scalar: TypeAlias = int | float | bool | str

Case: TypeAlias = Mapping[str, Scalar]
"""One shape that an operation is asked to compute, by named axes: ``{"id": 18944}``."""

S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class Control(Generic[S]):
    """A subject with a deliberate defect, and the metrics that must see it."""

    name: str
    defect: str
    """What is wrong with the mutant, in one sentence."""
    mutant: S
    turns_red: tuple[str, ...]
    """Metrics whose bounds must fail on the mutant."""


@dataclass(frozen=True, slots=True)
class Build:
    """One compilation of a kernel: argument types, constants and launch size."""

    name: str
    signature: Mapping[str, str]
    """Triton type of each run-time argument, ``"*u8"`` or ``"i32"``; ``":16"`` promises divisibility."""
    constants: Mapping[str, Scalar | None]
    """Value of each ``tl.constexpr`` argument."""
    warps: int = 4
    stages: int = 3
    max_registers: int | None = None
    """Cap on registers a thread, passed to the compiler (``maxnreg``)."""
    archs: tuple[str, ...] = ()
    """Architectures that it is launched on; all of them where empty."""
    fp_fusion: bool = True
    """Whether the compiler may contract a product and a sum into one rounding, as at launch."""


@dataclass(frozen=True, slots=True)
class Arm:
    """One variant of an operation."""

    name: str
    launches: tuple[str, ...]
    """Symbols of the kernels it must launch, in order."""
    covered_units: Reference
    """``(case) -> int``: work units of the case that the arm computes; 0 where it may not run at all."""


class Trial(Protocol):
    """One executable instance of a case.

    Guardrail fills every tensor of `outputs` and `scratch` with NaN (integers: 0xFF bytes) before it calls
    `launch`, so that work left undone cannot look finished.
    """

    outputs: "Sequence[Any]"
    """Tensors that the operation must write completely."""
    scratch: "Sequence[Any]"
    """Tensors that the arms write and read for themselves."""

    def launch(self, arm: str) -> None:
        """Run one arm on the trial's inputs."""


class ExposingTrial(Trial, Protocol):
    """A trial whose inputs make each work unit's contribution distinguishable."""

    def unit_counts(self) -> "Sequence[Sequence[int]]":
        """Read off the outputs how often each work unit was computed.

        Returns:
            One row for each independent group of outputs, one count for each work unit; a count that cannot
            be read (NaN) is 0.
        """


class RandomTrial(Trial, Protocol):
    """A trial on fresh random inputs."""

    def reference(self) -> "Sequence[Any]":
        """Compute the outputs independently of every arm, in float64 (or exactly, for integers).

        Returns:
            One tensor for each output, of the same shape.
        """


@dataclass(frozen=True, slots=True)
class Work:
    """What one call of an arm must move and compute, as its author declares it."""

    content_bytes: int
    """Bytes that any arm must read and write once: weights as their format packs them, inputs, outputs."""
    streamed_bytes: int
    """Bytes that this arm moves, with the padding of its layout and its partial results."""
    operations: int
    """Multiplications and additions."""


@dataclass(frozen=True, slots=True)
class Operation:
    """What several arms compute, with an independent reference. Subject of the ``numerics`` probe."""

    name: str
    work_unit: str
    """What work is counted in, singular: ``"32-element unit"``."""
    arms: tuple[Arm, ...]
    """Fastest first. The reference is never among them."""
    units: Reference
    """``(case) -> int``: the work units of a case."""
    exposing: Reference | None
    """``(case, device) -> ExposingTrial``."""
    random: Reference
    """``(case, seed, device) -> RandomTrial``."""
    cases: tuple[Case, ...] = ()
    """Small cases for the numerics probe, feasible in Triton's interpreter."""
    same_bits: tuple[tuple[str, str], ...] = ()
    """Pairs of arms whose outputs are equal to the byte wherever both cover a case."""
    timed_cases: Mapping[str, Case] = field(default_factory=dict)
    """Cases of real size for the timing probe, by the names that its guards use."""
    work: Reference | None = None
    """``(case, arm) -> Work``: what rates are computed from; none where it is absent."""
    needs_gpu: str = ""
    """Why its arms run on a GPU alone; empty where Triton's interpreter will do."""
    controls: "tuple[Control[Operation], ...]" = ()

    @property
    def references(self) -> tuple[Reference, ...]:
        """Everything that the operation's measurements depend on."""
        arms = (arm.covered_units for arm in self.arms)
        named = (self.units, self.exposing, self.random, self.work, *arms)
        return tuple(reference for reference in named if reference)


@dataclass(frozen=True, slots=True)
class Recording:
    """A run whose launch states a build: what is compiled for it is what is guarded."""

    name: str
    operation: Operation
    case: Case
    arm: str


@dataclass(frozen=True, slots=True)
class Kernel:
    """One compiled function; its name is the symbol seen at launch."""

    name: str
    function: Reference
    builds: tuple[Build, ...] = ()
    """Compilations stated by hand."""
    recordings: tuple[Recording, ...] = ()
    """Compilations read off a run."""
    controls: "tuple[Control[Kernel], ...]" = ()

    @property
    def references(self) -> tuple[Reference, ...]:
        """Everything that the kernel's measurements depend on."""
        runs = (reference for recording in self.recordings for reference in recording.operation.references)
        return (self.function, *runs)


@dataclass(frozen=True, slots=True)
class Twin:
    """One build of one kernel among `Twins`."""

    function: Reference
    """The kernel."""
    build: Build


@dataclass(frozen=True, slots=True)
class Twins:
    """Builds that must add floating-point numbers in the same order. Subject of ``reduction_layouts``."""

    name: str
    twins: tuple[Twin, ...]
    """All of them are compared with the first."""
    controls: "tuple[Control[Twins], ...]" = ()

    @property
    def references(self) -> tuple[Reference, ...]:
        """Everything that the twins' measurements depend on."""
        return tuple(twin.function for twin in self.twins)


@dataclass(frozen=True, slots=True)
class Choice:
    """What a gate decided for one case."""

    arm: str
    because: str = ""
    """Why a slower arm is taken on purpose; empty where none is."""


@dataclass(frozen=True, slots=True)
class Gate:
    """The host-side rule that picks an arm, over a finite domain. Subject of the ``dispatch`` probe."""

    name: str
    operation: Operation
    pick: Reference
    """``(case) -> Choice``: the very function that the launcher calls."""
    domain: Reference
    """``() -> Iterable[Case]``: every case the gate may be asked, in order along its axes."""
    model_cases: Reference
    """``(ModelProfile) -> Iterable[Case]``: the cases that one model needs."""
    executed: Reference | None = None
    """``(case) -> bool``: whether the case is small enough for the interpreter; every case where absent."""
    controls: "tuple[Control[Gate], ...]" = ()

    @property
    def references(self) -> tuple[Reference, ...]:
        """Everything that the gate's measurements depend on."""
        named = (self.pick, self.domain, self.model_cases, self.executed)
        return (*(reference for reference in named if reference), *self.operation.references)


@dataclass(frozen=True, slots=True)
class Plan:
    """A buffer sized from an engine's configuration. Subject of the ``capacity`` probe."""

    name: str
    configurations: Reference
    """``() -> Iterable[Case]``: every engine configuration to examine."""
    capacity: Reference
    """``(configuration) -> int``: rows that the plan allocates."""
    demands: Reference
    """``(configuration) -> Iterable[tuple[batch, int]]``: admissible batches and the rows each one needs."""
    row_bytes: Reference
    """``(ModelProfile) -> int``: bytes of one row for one model."""
    controls: "tuple[Control[Plan], ...]" = ()

    @property
    def references(self) -> tuple[Reference, ...]:
        """Everything that the plan's measurements depend on."""
        return (self.configurations, self.capacity, self.demands, self.row_bytes)


@dataclass(frozen=True, slots=True)
class Pool:
    """Buffers that an engine allocates as it starts and then shares. Subject of the ``pool`` probe.

    ``guardrail kv plan`` calls its references in its own process, so their modules import neither torch nor
    triton.
    """

    name: str
    layout: str
    """What a user calls this way of laying out and sizing the buffers: ``"guardrail"``."""
    start: Reference
    """``(models, EngineOptions) -> EngineStart``: replays an engine's start. The models are served together,
    the target first, its drafter after it."""
    token_bytes: Reference
    """``(ModelProfile) -> int | None``: KV cache that one token takes over all layers; None where the model's
    layers are not known."""
    notes: Reference | None = None
    """``(models, EngineOptions) -> Sequence[str]``: sentences for whoever is about to start that engine."""
    controls: "tuple[Control[Pool], ...]" = ()

    @property
    def references(self) -> tuple[Reference, ...]:
        """Everything that the pool's measurements depend on."""
        return tuple(reference for reference in (self.start, self.token_bytes, self.notes) if reference)


@dataclass(frozen=True, slots=True)
class Engine:
    """A decode engine. Subject of the ``decode`` probe."""

    name: str
    start: Reference
    """``(ModelProfile, DecodeOptions, device) -> RunningEngine``: loads the model on a device."""
    reference: Reference | None = None
    """The same engine with a reference arm for every product that has one; it need not be fast."""
    forced_arms: Mapping[str, Reference] = field(default_factory=dict)
    """The same engine with one arm forced wherever it can serve, by the arm's name."""
    controls: "tuple[Control[Engine], ...]" = ()

    @property
    def references(self) -> tuple[Reference, ...]:
        """Everything that the engine's measurements depend on."""
        named = (self.start, self.reference, *self.forced_arms.values())
        return tuple(reference for reference in named if reference)


Subject: TypeAlias = Kernel | Operation | Gate | Plan | Pool | Engine | Twins


@dataclass(frozen=True, slots=True)
class Family:
    """A set of kernels with everything that guards need to know about them."""

    name: str
    title: str
    kernels: tuple[Kernel, ...] = ()
    operations: tuple[Operation, ...] = ()
    gates: tuple[Gate, ...] = ()
    plans: tuple[Plan, ...] = ()
    pools: tuple[Pool, ...] = ()
    engines: tuple[Engine, ...] = ()
    twins: tuple[Twins, ...] = ()
    knobs: Mapping[str, str] = field(default_factory=dict)
    """Environment variables that the family reads, with one sentence each."""

    def subjects(self) -> "Mapping[str, Subject]":
        """Name each subject of the family.

        Raises:
            ValueError: Two subjects share a name.
        """
        named: dict[str, Subject] = {}
        subjects: tuple[Subject, ...] = (
            *self.kernels,
            *self.operations,
            *self.gates,
            *self.plans,
            *self.pools,
            *self.engines,
            *self.twins,
        )
        for subject in subjects:
            if subject.name in named:
                raise ValueError(f"family {self.name}: two subjects are named {subject.name!r}")
            named[subject.name] = subject
        return named
