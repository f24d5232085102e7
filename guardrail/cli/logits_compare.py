"""What ``guardrail logits compare`` prints, and says to the shell."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import typer

from guardrail.adapters.logits.dump_files import read_dumps
from guardrail.cli.logits_layout import parse_layout
from guardrail.cli.logits_plot import Panel, panel_of, write_plot
from guardrail.cli.profile_plot import check_plot_file
from guardrail.cli.table import print_line
from guardrail.errors import ExitCode, UsageError
from guardrail.logits.classes import FACTOR
from guardrail.logits.comparison import Comparison, compare_dumps
from guardrail.logits.dump import Dump


@dataclass(frozen=True, slots=True)
class Request:
    """One command line."""

    one: Path
    other: Path
    pairs: tuple[tuple[str, str], ...]
    factor: float | None
    top: int
    shape: str | None
    vocabulary: int | None
    tensor: str | None
    plot: Path | None
    as_json: bool


def print_comparison(request: Request) -> ExitCode:
    """Compare two dumps and print everything about their difference.

    Returns:
        The code of the class that the difference has.

    Raises:
        UsageError: They must not be compared.
        MeasurementError: A dump cannot be read.
    """
    if request.plot is not None:
        check_plot_file(request.plot)
    if request.factor is not None and not request.pairs:
        raise UsageError("--factor goes with --class-from, whose difference it multiplies")
    layout = parse_layout(request.shape, request.vocabulary, request.tensor)
    files = [(request.one, request.other), *((Path(first), Path(second)) for first, second in request.pairs)]
    dumps = read_dumps([path for pair in files for path in pair], layout)
    _refuse_one_file(files)
    (one, other), *pairs = zip(dumps[::2], dumps[1::2], strict=True)
    found = compare_dumps(one, other, pairs, request.factor or FACTOR, request.top)
    if request.plot is not None:
        write_plot(request.plot, f"{other.source} - {one.source}", list(_panels(found)))
    if request.as_json:
        typer.echo(json.dumps(_as_json(found), indent=2))
    else:
        for line in _lines(found):
            print_line(line)
    return found.classification.class_.exit_code


def _refuse_one_file(files: Sequence[tuple[Path, Path]]) -> None:
    """Refuse a pair that is one file, whatever its two names."""
    for one, other in files:
        if one.samefile(other):
            raise UsageError(f"{one} is given twice; a dump compared with itself tells nothing")


def _lines(found: Comparison) -> Iterator[str]:
    yield _described("A", found.one)
    yield _described("B", found.other)
    yield ""
    difference, delta = found.logits, found.logits.delta
    row, index = difference.worst_at
    yield f"differing   {delta.differing} of {delta.elements} logits, by their bytes"
    yield f"non-finite  {delta.nonfinite[0]} in A, {delta.nonfinite[1]} in B"
    at = f" at sequence {row}, token {index}" if delta.max_abs else ""
    sizes = f"max {delta.max_abs:.6g}{at}; mean {delta.mean_abs:.6g}" if delta.compared else "-"
    yield f"|delta|     {sizes}"
    yield f"KL(A || B)  {'not known' if difference.kl is None else f'{difference.kl:.6g} nats at most'}"
    for number, ranking in enumerate(difference.rankings):
        before, now = ranking.argmax
        kept = f"{before} in both" if before == now else f"{before} in A, {now} in B"
        yield (
            f"argmax      {kept}; ahead by {ranking.margin[0]:.4g} in A, {ranking.margin[1]:.4g} in B; "
            f"{ranking.shared_top} of the top {ranking.top} shared (sequence {number})"
        )
    for tensor in found.tensors:
        if tensor.differing or tensor.nonfinite:
            bad = f", {tensor.nonfinite} NaN or infinite" if tensor.nonfinite else ""
            yield f"beside      {tensor.name}: {tensor.differing} of {tensor.elements} elements differ{bad}"
    if equal := sum(not tensor.differing for tensor in found.tensors):
        yield f"beside      {equal} of {len(found.tensors)} further tensors are equal to the byte"
    for floor in found.floors:
        yield f"reference   a pair that is right differs by {floor:.6g} at most"
    yield ""
    for caveat in found.caveats:
        yield f"note: {caveat}"
    yield f"class: {found.classification.class_}: {found.classification.because}"


def _described(letter: str, dump: Dump) -> str:
    identity = dump.identity
    if identity is None:
        return f"{letter}  {dump.source}: states no engine, build or prompt"
    mode = f", {identity.mode}" if identity.mode else ""
    return (
        f"{letter}  {dump.source}: {identity.engine}{mode}, step {identity.step}, build {identity.build[:19]}"
    )


def _panels(found: Comparison) -> Iterator[Panel]:
    for number, (one, other) in enumerate(zip(found.one.logits, found.other.logits, strict=True)):
        yield panel_of(f"sequence {number}", one, other)


def _as_json(found: Comparison) -> dict[str, Any]:
    return {
        "a": found.one.source,
        "b": found.other.source,
        "class": found.classification.class_,
        "because": found.classification.because,
        "multiple": found.classification.multiple,
        "reference_max_abs": list(found.floors),
        "logits": asdict(found.logits),
        "tensors": [asdict(tensor) for tensor in found.tensors],
        "notes": list(found.caveats),
    }
