"""How a diagnosis is written, for people and for programs."""

import json
from collections.abc import Iterator
from dataclasses import asdict

import typer
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from guardrail.records.doctor import Capability, Diagnosis, ExaminedGpu
from guardrail.records.spoiler import Spoiler
from guardrail.reporters.text import one_line
from guardrail.rules.units import gibibytes

_PIPE_WIDTH = 100
_ANSWERS = {True: ("yes", "green"), None: ("maybe", "yellow"), False: ("no", "dim")}
_SHOWN_VERSIONS = ("python", "torch", "triton", "vllm", "numpy")


def as_document(diagnosis: Diagnosis) -> str:
    """Write a diagnosis as one JSON object; ``spoiled`` says whether anything would spoil a measurement."""
    return json.dumps({"spoiled": bool(diagnosis.all_spoilers), **asdict(diagnosis)}, indent=2)


def print_diagnosis(diagnosis: Diagnosis) -> None:
    """Print the machine, what it can measure, its compile caches, and what would spoil a measurement."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=max(_PIPE_WIDTH, console.width))
    with console.capture() as written:
        for part in _parts(diagnosis):
            console.print(part)
    typer.echo("\n".join(line.rstrip() for line in written.get().splitlines()))


def _parts(diagnosis: Diagnosis) -> Iterator[RenderableType]:
    yield _machine(diagnosis)
    for gpu in diagnosis.gpus:
        yield ""
        yield from _gpu(gpu)
    yield ""
    yield Text("can be measured here", style="bold")
    yield _capabilities(diagnosis.capabilities)
    yield ""
    yield Text("compile caches (the first run on a cold one compiles: leave it out)", style="bold")
    yield _caches(diagnosis)
    yield ""
    yield from _verdict(diagnosis)


def _grid() -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    return table


def _machine(diagnosis: Diagnosis) -> Table:
    table = _grid()
    rows = {
        "system": diagnosis.system,
        "versions": ", ".join(
            f"{name} {diagnosis.versions[name]}" for name in _SHOWN_VERSIONS if name in diagnosis.versions
        ),
        "torch's CUDA": diagnosis.torch_cuda or "none: a build without it, or no torch",
        "driver": f"{diagnosis.driver}, for CUDA {diagnosis.driver_cuda} at most"
        if diagnosis.driver
        else "none",
    }
    for label, value in rows.items():
        table.add_row(Text(label, style="dim"), Text(one_line(value)))
    if not diagnosis.gpus:
        table.add_row(
            Text("GPU", style="dim"), Text("none that kernels may use; what needs none can be measured")
        )
    return table


def _gpu(gpu: ExaminedGpu) -> Iterator[RenderableType]:
    settings = gpu.settings
    yield Text(f"GPU {settings.index}: {one_line(settings.name)}", style="bold")
    table = _grid()
    for label, value in _gpu_rows(gpu).items():
        table.add_row(Text(f"  {label}", style="dim"), Text(value))
    for remark in gpu.remarks:
        table.add_row(Text("  remark", style="dim"), Text(remark))
    yield table


def _gpu_rows(gpu: ExaminedGpu) -> dict[str, str]:
    settings, state = gpu.settings, gpu.state
    flags = {"persistence": settings.persistence, "ECC": settings.ecc}
    return {
        "uuid": settings.uuid,
        "profile": gpu.profile or "none: no file of profiles/devices has this device_name",
        "architecture": settings.arch or "not told",
        "SM clock": _of(state.sm_clock_mhz, settings.max_sm_clock_mhz, "MHz"),
        "memory clock": _of(state.memory_clock_mhz, settings.max_memory_clock_mhz, "MHz"),
        "power": _of(state.power_watts, state.power_limit_watts, "W"),
        "temperature": _of(state.temperature_celsius, settings.slowdown_celsius, "°C"),
        "clocks set by": ", ".join(state.clock_event_reasons) or "nothing that the driver tells",
        "memory in use": " of ".join(
            "not told" if size is None else gibibytes(size)
            for size in (state.memory_used_bytes, settings.memory_bytes)
        ),
        "processes": "not told" if state.processes is None else str(len(state.processes)),
        "set to": ", ".join(
            [
                *(f"{name} {'on' if value else 'off'}" for name, value in flags.items() if value is not None),
                f"compute mode {settings.compute_mode or 'not told'}",
                *(["MIG slice"] if settings.mig else []),
            ]
        ),
    }


def _of(value: float | None, most: float | None, unit: str) -> str:
    if value is None:
        return "not told"
    return f"{value:.0f} {unit}" if most is None else f"{value:.0f} of {most:.0f} {unit}"


def _capabilities(capabilities: tuple[Capability, ...]) -> Table:
    table = _grid()
    table.add_column(overflow="fold")
    for capability in capabilities:
        word, style = _ANSWERS[capability.works]
        detail = Text(one_line(capability.detail))
        if capability.remedy:
            detail.append(f"\n→ {one_line(capability.remedy)}", "dim")
        table.add_row(Text(f"  {word}", style=style), Text(capability.name), detail)
    return table


def _caches(diagnosis: Diagnosis) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for _ in range(4):
        table.add_column(overflow="fold")
    for cache in diagnosis.caches:
        warmth = f"{cache.artifacts} files, {gibibytes(cache.bytes)}" if cache.artifacts else "cold"
        mark = cache.fingerprint.partition(":")[2][:12] if cache.artifacts else ""
        table.add_row(f"  {cache.name}", warmth, mark, Text(one_line(cache.folder), style="dim"))
    return table


def _verdict(diagnosis: Diagnosis) -> Iterator[RenderableType]:
    if not diagnosis.all_spoilers:
        yield Text("nothing would spoil a measurement now", style="green")
        return
    yield Text("would spoil a measurement now", style="bold red")
    for spoiler in diagnosis.spoilers:
        yield _spoiler("", spoiler)
    for gpu in diagnosis.gpus:
        for spoiler in gpu.spoilers:
            yield _spoiler(f"GPU {gpu.settings.index}: ", spoiler)


def _spoiler(where: str, spoiler: Spoiler) -> Padding:
    text = Text.assemble(where, one_line(spoiler.what), "\n", (f"→ {one_line(spoiler.remedy)}", "dim"))
    return Padding(text, (0, 0, 0, 2))
