"""How often the timing verdict is wrong, and how soon it is right.

``measure`` runs on a GPU: comparisons of a kernel with itself, and with itself at 1%, 2% and 5% more work;
then it judges them. ``judge`` needs no GPU: it applies the sequential rule to the raw samples, and to 10,000
comparisons resampled from those of the kernel with itself.

    python benchmarks/false_alarms.py measure samples.json [--comparisons 300]
    python benchmarks/false_alarms.py judge samples.json [--resamples 10000]
"""

import argparse
import json
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from guardrail.stats.exact import binomial_upper_bound
from guardrail.stats.paired import ratio_interval
from guardrail.stats.sequential import plan_looks

CONFIDENCE = 0.999
MOST_WINDOWS = 30
INJECTED = (0.01, 0.02, 0.05)
_BYTES = 512 * 2**20
_CALLS = 4
"""Calls of each arm in a window."""
_PER_SESSION = 5
"""Comparisons in one session of the profiler, so that its trace stays small."""


@dataclass(frozen=True)
class Decision:
    """What one comparison came to."""

    slower: bool
    faster: bool
    windows: int

    @property
    def alarm(self) -> bool:
        """Whether it says that the arms differ at all."""
        return self.slower or self.faster


def decide(base: Sequence[float], other: Sequence[float]) -> Decision:
    """Look at the pairs as they come in, until the interval of their ratio leaves 1 on one side."""
    looks = plan_looks(CONFIDENCE, len(base))
    for size in looks.sizes:
        low, _, high = ratio_interval(base[:size], other[:size], looks.confidence)
        if low > 1 or high < 1:
            return Decision(low > 1, high < 1, size)
    return Decision(False, False, len(base))


def measure(comparisons: int) -> dict[str, object]:
    """Take the samples: for each comparison 30 windows of four calls of each arm, with a cold L2.

    The calls of a window come in random order. In a fixed one (base, other, other, base) every fourth call of
    one card was slower, whoever's it was, and a kernel seemed 2% slower than itself.

    Returns:
        For each amount of injected work the median microseconds of both arms in each window, and the seconds
        that a window took.
    """
    import torch

    from guardrail.adapters.timing_rates import Reader, flush

    base, flushing = Reader(_BYTES), flush()
    amounts = {0.0: comparisons, **dict.fromkeys(INJECTED, max(comparisons // 6, 20))}
    samples: dict[str, object] = {"device": torch.cuda.get_device_name(), "comparisons": {}, "seconds": {}}
    for amount, count in amounts.items():
        other = base if amount == 0 else Reader(round(_BYTES * (1 + amount)))
        begun, found = time.perf_counter(), []
        for _ in range(-(-count // _PER_SESSION)):
            found += _session(base, other, flushing)
        samples["comparisons"][f"{amount:g}"] = found  # type: ignore[index]
        spent = (time.perf_counter() - begun) / (len(found) * MOST_WINDOWS)
        samples["seconds"][f"{amount:g}"] = spent  # type: ignore[index]
        print(f"{amount:.0%} more work: {len(found)} comparisons, {spent * 1e3:.2f} ms a window", flush=True)
    return samples


def _session(
    base: Callable[[], None], other: Callable[[], None], flushing: Callable[[], None]
) -> list[list[list[float]]]:
    import torch

    from guardrail.adapters.kineto import profiled
    from guardrail.adapters.timing_kernels import guardrail_lead_in

    word = torch.zeros(1, dtype=torch.int32, device="cuda")
    windows = _PER_SESSION * MOST_WINDOWS
    orders = [random.sample((0, 1) * _CALLS, 2 * _CALLS) for _ in range(windows)]

    def run() -> None:
        for _ in range(20):
            guardrail_lead_in[(1,)](word)
        for order in orders:
            for arm in order:
                flushing()
                (base, other)[arm]()

    reads = [launch for launch in profiled(run).launches if launch.name == "guardrail_read"]
    expected = 2 * 2 * _CALLS * windows
    if len(reads) != expected:
        raise SystemExit(f"the profiler lost {expected - len(reads)} launches")
    times = iter(launch.duration_ns / 1e3 for launch in reads[1::2])
    pairs = []
    for order in orders:
        of_arms: tuple[list[float], list[float]] = ([], [])
        for arm in order:
            of_arms[arm].append(next(times))
        pairs.append([round(statistics.median(of_arm), 4) for of_arm in of_arms])
    return [pairs[at : at + MOST_WINDOWS] for at in range(0, len(pairs), MOST_WINDOWS)]


def judge(samples: dict[str, object], resamples: int) -> None:
    """Print false alarms with their exact bounds, and detections with the time that they took."""
    found: dict[str, list[list[list[float]]]] = samples["comparisons"]  # type: ignore[assignment]
    seconds: dict[str, float] = samples["seconds"]  # type: ignore[assignment]
    print(f"{samples['device']}; confidence {CONFIDENCE:.1%}, up to {MOST_WINDOWS} windows a comparison")
    alarms = sum(decide(*zip(*pairs, strict=True)).alarm for pairs in found["0"])
    _print_alarms("against itself, measured", alarms, len(found["0"]))
    pool = [pair for pairs in found["0"] for pair in pairs]
    generator = random.Random(0)
    alarms = 0
    for _ in range(resamples):
        drawn = generator.choices(pool, k=MOST_WINDOWS)
        # A kernel against itself: which of a pair is the base is arbitrary.
        swapped = [pair[::-1] if generator.random() < 0.5 else pair for pair in drawn]
        alarms += decide(*zip(*swapped, strict=True)).alarm
    _print_alarms("against itself, resampled", alarms, resamples)
    for amount in (name for name in found if name != "0"):
        decisions = [decide(*zip(*pairs, strict=True)) for pairs in found[amount]]
        ratio = statistics.median(other / base for pairs in found[amount] for base, other in pairs)
        detected = [one for one in decisions if one.slower]
        spent = statistics.median(one.windows for one in decisions) * seconds[amount]
        print(
            f"{float(amount):.0%} more work: {ratio - 1:+.2%} time, {len(detected)} of {len(decisions)} "
            f"detected, median {spent:.3f} s"
        )


def _print_alarms(what: str, alarms: int, trials: int) -> None:
    bound = binomial_upper_bound(alarms, trials, 0.95)
    print(f"{what}: {alarms} false alarms in {trials:,}, at most {bound:.3%} with 95% confidence")


def main() -> None:
    """Measure or judge."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=("measure", "judge"))
    parser.add_argument("samples", type=Path, help="JSON file of raw samples")
    parser.add_argument("--comparisons", type=int, default=300)
    parser.add_argument("--resamples", type=int, default=10_000)
    arguments = parser.parse_args()
    if arguments.action == "measure":
        arguments.samples.write_text(json.dumps(measure(arguments.comparisons)))
    judge(json.loads(arguments.samples.read_text()), arguments.resamples)


if __name__ == "__main__":
    main()
