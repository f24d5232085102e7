"""Compare the timing probe's times with Nsight Compute's ``gpu__time_duration``, kernel by kernel.

Both leave the clocks alone and start every kernel with a cold L2. ncu counts a part of the launch in: what it
shows of a kernel that does nothing, beyond what the probe shows, is printed beside the raw difference. ncu
leaves the card idle between kernels, so those that draw much power come last here: behind them the card would
clock lower. Run on a GPU with ncu installed, in the repository's root:

    python benchmarks/ncu_agreement.py [--json FILE]
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from guardrail.adapters.kineto import profiled
from guardrail.adapters.nsight import require_tool
from guardrail.adapters.timing_calls import Call, split_calls
from guardrail.adapters.timing_kernels import guardrail_lead_in, guardrail_mark
from guardrail.adapters.timing_rates import Reader, flush
from guardrail.kernels.int4_attention import launch
from guardrail.kernels.int4_attention.manifest import FAMILY
from guardrail.kernels.int4_attention.served_trials import ServedAttention
from guardrail.kernels.int4_attention.write_trials import ServedWrite
from guardrail.kernels.q6k import served_trials as q6k_trials
from guardrail.kernels.q6k.manifest import FAMILY as Q6K
from guardrail.records.launch import WorkKind
from guardrail.traces.ncu_csv import read_ncu_csv

CALLS = 20
EMPTY = "nothing"
_RELATIVE, _ABSOLUTE_US = 0.03, 0.5
_MIB = 2**20


def subjects() -> dict[str, Callable[[], object]]:
    """Make the calls, each of which launches one kernel."""
    word = torch.zeros(1, dtype=torch.int32, device="cuda")
    calls: dict[str, Callable[[], object]] = {EMPTY: lambda: guardrail_lead_in[(1,)](word)}
    calls |= {
        f"read {size} MiB": Reader(size * _MIB) for size in (16, 32, 128, 256, 512, 1024, 2048, 4096, 16_384)
    }
    scores = torch.randn(8192, 8192, device="cuda")
    calls["softmax of 8192 x 8192"] = lambda: torch.softmax(scores, dim=-1)
    calls["sums of 8192 rows of 8192"] = lambda: scores.sum(dim=-1)
    calls["copy of 8192 x 8192 transposed"] = lambda: scores.T.contiguous()
    attention = FAMILY.subjects()["served_attention"].timed_cases
    for name in ("decode-90k", "verify-90k"):
        trial = ServedAttention(attention[name], 0, "cuda")
        calls[f"attend_segments {name}"] = lambda trial=trial: launch.launch_segments(
            trial.batch, trial.partial_results, trial.batch.shape()
        )
    drafter = ServedAttention(attention["drafter-24k"], 0, "cuda")
    calls["attend drafter-24k"] = lambda: drafter.launch("2d")
    prefill = FAMILY.subjects()["served_write"].timed_cases["prefill-8k"]
    for name, blocks in (("8k", 512), ("32k", 2048)):
        write = ServedWrite({**prefill, "blocks": blocks}, 0, "cuda")
        calls[f"write_cache prefill-{name}"] = lambda write=write: write.launch("write")
    product = Q6K.subjects()["served_matvec"].timed_cases["lm-head-14b"]
    lm_head = q6k_trials.random(product, 0, "cuda")
    calls["mmvq_v2_dpl lm-head-14b"] = lambda: lm_head.launch("v2_dpl")
    for rows in (1024, 2048, 4096, 8192):
        one, other, out = (torch.randn(rows, rows, dtype=torch.bfloat16, device="cuda") for _ in range(3))
        calls[f"bf16 product of {rows}"] = lambda one=one, other=other, out=out: torch.matmul(
            one, other, out=out
        )
    for call in calls.values():
        call()
    torch.cuda.synchronize()
    return calls


def ours(calls: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Time each as the probe does: microseconds, median of the calls of one session."""
    flushing, word = flush(), torch.zeros(1, dtype=torch.int32, device="cuda")

    def session() -> None:
        for _ in range(CALLS):
            guardrail_lead_in[(1,)](word)
        for call in calls.values():
            for _ in range(CALLS):
                for step in (flushing, call):
                    guardrail_mark[(1,)](word)
                    step()

    found = split_calls(profiled(session), 2 * CALLS * len(calls))[1::2]
    times = [_kernel_us(call) for call in found]
    return {name: statistics.median(times[at * CALLS : (at + 1) * CALLS]) for at, name in enumerate(calls)}


def _kernel_us(call: Call) -> float:
    """Take the time of a call's only kernel: ncu shows no copies and fills."""
    (duration,) = (one.duration_ns for one in call.launches if one.kind is WorkKind.KERNEL)
    return duration / 1e3


def child() -> None:
    """Make every call between the start and the stop that ncu waits for."""
    calls = subjects()
    torch.cuda.profiler.start()
    for call in calls.values():
        for _ in range(CALLS):
            call()
    torch.cuda.synchronize()
    torch.cuda.profiler.stop()


def ncu(names: list[str]) -> tuple[dict[str, float], float]:
    """Time the same calls by ncu, and the seconds that it took beyond the same process without it."""
    command = [sys.executable, __file__, "--child"]
    plain = time.perf_counter()
    subprocess.run(command, check=True)
    plain = time.perf_counter() - plain
    options = ["--clock-control", "none", "--cache-control", "all", "--profile-from-start", "off"]
    options += ["--metrics", "gpu__time_duration.sum", "--csv", "--page", "raw"]
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        watched = time.perf_counter()
        subprocess.run([str(require_tool("ncu")), *options, "--log-file", str(log), *command], check=True)
        watched = time.perf_counter() - watched
        launches = read_ncu_csv(log.read_text(), "ncu").launches
    if len(launches) != CALLS * len(names):
        raise SystemExit(f"expected {CALLS * len(names)} kernels from ncu, found {len(launches)}")
    times = {
        name: statistics.median(one.duration_ns / 1e3 for one in launches[at * CALLS : (at + 1) * CALLS])
        for at, name in enumerate(names)
    }
    return times, watched - plain


def main() -> None:
    """Measure both ways and print where they differ."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="file to write the numbers to")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child()
        return
    calls = subjects()
    ours(calls)  # the profiler's first session loads CUPTI
    begun = time.perf_counter()
    probe = ours(calls)
    seconds = time.perf_counter() - begun
    names = list(calls)
    del calls
    torch.cuda.empty_cache()
    theirs, ncu_seconds = ncu(names)
    offset = theirs[EMPTY] - probe[EMPTY]
    print(
        f"{'kernel, cold L2, median of ' + str(CALLS):<34}{'probe us':>10}{'ncu us':>10}{'differ':>9}"
        f"{'less launch':>13}"
    )
    agreed = {"raw": 0, "less launch": 0}
    for name in names[1:]:
        raw = probe[name] - theirs[name]
        less = raw + offset
        for key, off in (("raw", raw), ("less launch", less)):
            agreed[key] += abs(off) <= max(_RELATIVE * theirs[name], _ABSOLUTE_US)
        shares = [f"{off / theirs[name]:+.1%}" for off in (raw, less)]
        print(f"{name:<34}{probe[name]:>10.2f}{theirs[name]:>10.2f}{shares[0]:>9}{shares[1]:>13}")
    print(
        f"within 3% or 0.5 us of {len(names) - 1}: {agreed['raw']} as they are, {agreed['less launch']} less "
        f"the {offset:.2f} us that ncu adds to a kernel that does nothing; probe {seconds:.1f} s, ncu "
        f"{ncu_seconds:.1f} s more than the process alone"
    )
    if arguments.json:
        record = {"probe_us": probe, "ncu_us": theirs, "probe_seconds": seconds, "ncu_seconds": ncu_seconds}
        arguments.json.write_text(json.dumps(record, indent=1))


if __name__ == "__main__":
    main()
