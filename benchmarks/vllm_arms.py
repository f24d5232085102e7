"""Boot stock vLLM and vLLM with guardrail's plug-in in turns, and compare steps, logits and budgets.

    python -m benchmarks.vllm_arms run FOLDER [--seconds 560] [--only 'float32.*']
    python -m benchmarks.vllm_arms report FOLDER

Run it from a checkout, with vLLM on PYTHONPATH. It resumes: what FOLDER holds is not measured again, so that
it may be run, for as long as the machine is there, as often as it takes. Both arms share one compile cache.
A third arm, stock vLLM in float32, gives the logits that both are held against.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import numpy

CHECKOUT = Path(__file__).parents[1]
ARMS = ("guardrail", "stock")
REFERENCE = "float32"
BOOTS = (
    (REFERENCE, 7, 0),
    *(
        (arm, depth, repeat)
        for depth, repeat in ((7, 0), (15, 0), (7, 1), (0, 0), (7, 2), (15, 1))
        # The order of the arms alternates, so that what drifts drifts for both.
        for arm in (ARMS if repeat % 2 == 0 else reversed(ARMS))
    ),
)
_LONGEST_BOOT = 150.0
# A query of 17 to 32 tokens is no verify step: vLLM captures graphs for twice as many tokens as its sequences
# verify, and spreads a capture's tokens over them.
_LENGTHS = ((1, "1 token"), (16, "2 to 16"), (32, "17 to 32"), (sys.maxsize, "more"))


def name_of(arm: str, depth: int, repeat: int) -> str:
    """Name the files of a boot."""
    return f"{arm}.depth{depth}.{repeat}"


def run(folder: Path, seconds: float, only: Sequence[str]) -> None:
    """Boot what is missing and is asked for, for as long as there is time."""
    end = time.monotonic() + seconds
    folder.mkdir(parents=True, exist_ok=True)
    model = folder / "model"
    if not (model / "config.json").exists():
        subprocess.run([sys.executable, CHECKOUT / "examples/vllm/make_model.py", model], check=True)
    slowest = 45.0
    for arm, depth, repeat in BOOTS:
        target = folder / "boots" / f"{name_of(arm, depth, repeat)}.json"
        left = end - time.monotonic()
        asked = any(fnmatch(target.stem, pattern) for pattern in only)
        if not asked or target.exists() or left < slowest:
            continue
        target.parent.mkdir(exist_ok=True)
        begun = time.monotonic()
        code = boot(arm, depth, target, model, folder, min(_LONGEST_BOOT, left))
        took = time.monotonic() - begun
        slowest = max(slowest, took) if took < 90 else slowest
        if code:
            tail = target.with_suffix(".log").read_text(errors="replace").splitlines()[-40:]
            sys.exit("\n".join([*tail, f"{target.stem} failed ({code}) after {took:.0f} s"]))
        print(f"{target.stem}: done in {took:.0f} s", flush=True)


def boot(arm: str, depth: int, target: Path, model: Path, folder: Path, limit: float) -> int:
    """Run one engine in a process of its own, and keep its log and its census."""
    plugin = folder / "plugin"
    register_plugin(plugin)
    census = target.with_suffix(".census.json")
    paths = [*([str(plugin)] if arm == "guardrail" else []), str(CHECKOUT), os.environ.get("PYTHONPATH", "")]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path for path in paths if path),
        "GUARDRAIL_VLLM_CENSUS": str(census),
        "VLLM_CACHE_ROOT": str(folder / "cache"),
        # Kernels of one precision must not be taken for those of the other.
        "TRITON_CACHE_DIR": str(folder / ("triton-float32" if arm == REFERENCE else "triton")),
        "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_USE_FLASHINFER_SAMPLER": "0",
        "HF_HUB_OFFLINE": "1",
        # Three products of TF32 numbers come close to one of float32.
        **({"TRITON_F32_DEFAULT": "tf32x3"} if arm == REFERENCE else {}),
    }
    script = Path(__file__).with_name("vllm_engine.py")
    with target.with_suffix(".log").open("w") as log:
        try:
            done = subprocess.run(
                [sys.executable, "-P", script, arm, model, str(depth), target],
                env=environment, stdout=log, stderr=subprocess.STDOUT, timeout=limit, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return 124
    return done.returncode


def register_plugin(folder: Path) -> None:
    """Name the checkout's plug-in to vLLM, as an installation would."""
    info = folder / "gpu_guardrail-0.dist-info"
    shutil.rmtree(folder, ignore_errors=True)
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: gpu-guardrail\nVersion: 0\n")
    (info / "entry_points.txt").write_text(
        "[vllm.general_plugins]\nguardrail = guardrail.adapters.vllm.plugin:register\n"
    )


def report(folder: Path) -> Iterator[str]:
    """Compare the arms: a Markdown table of steps, then logits, budgets and the census."""
    boots = {path.stem: json.loads(path.read_text()) for path in sorted((folder / "boots").glob("*.json"))
             if not path.stem.endswith(".census")}  # fmt: skip
    columns = "boot, context, ms a step, tokens a step, GPU µs, attention µs, cache write µs, proposer µs"
    yield f"| {columns.replace(', ', ' | ')} |"
    yield "|---|---|---|---|---|---|---|---|"
    for name, found in boots.items():
        for context, row in found["contexts"].items():
            if name.startswith(REFERENCE):
                continue
            times = row["profile"]
            figures = [
                times[f"{part}_us_per_step"] for part in ("gpu", "attention", "cache_write", "proposer")
            ]
            yield (
                f"| {name} | {context} | {row['step_ms']:.3f} | {row['tokens_per_step']:.2f} | "
                + " | ".join(f"{figure:.1f}" for figure in figures) + " |"
            )  # fmt: skip
    yield ""
    yield "| boot | layers | KV blocks | scratch | census |"
    yield "|---|---|---|---|---|"
    for name, found in boots.items():
        census = folder / "boots" / f"{name}.census.json"
        taken = json.loads(census.read_text()) if census.exists() else None
        yield (
            f"| {name} | {', '.join(found['implementations'])} | {found['kv_blocks']} | "
            f"{[(held['bytes'], held['origin']) for held in found.get('scratch', [])]} | {_census(taken)} |"
        )
    yield ""
    yield from _logits(folder, boots)


def _census(record: dict[str, Any] | None) -> str:
    if record is None:
        return "none"
    arms: dict[str, int] = {}
    for row in record["taken"]:
        key = f"{row['arm']} at {next(words for most, words in _LENGTHS if row['query_len'] <= most)}"
        arms[key] = arms.get(key, 0) + row["calls"]
    return f"{arms}, {record['breaches']} breaches"


def _logits(folder: Path, boots: dict[str, Any]) -> Iterator[str]:
    yield "| pair | what | rms of the difference | largest | rms of the logits | equal argmax |"
    yield "|---|---|---|---|---|---|"
    arrays = {name: numpy.load(folder / "boots" / f"{name}.npz") for name in boots}
    reference = name_of(REFERENCE, 7, 0)
    for depth in (7, 15):
        stock, again, ours = (
            name_of(arm, depth, repeat) for arm, repeat in (("stock", 0), ("stock", 1), ("guardrail", 0))
        )
        for first, second in ((stock, again), (stock, ours), (reference, stock), (reference, ours)):
            if first in arrays and second in arrays:
                for key in arrays[first].files:
                    yield _pair(f"{first}, {second}", key, *_same_tokens(boots, arrays, first, second, key))
        for name in (name for name in (stock, ours) if name in arrays):
            # The same prompt, computed whole and behind a cached prefix: how far a batch's shape goes.
            for key in (key for key in arrays[name].files if key.endswith("whole")):
                tail = key.replace("whole", "tail8")
                yield _pair(name, f"{key}, {tail}", arrays[name][key], arrays[name][tail])


def _same_tokens(
    boots: dict[str, Any], arrays: dict[str, Any], first: str, second: str, key: str
) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Keep the logits of new tokens for as long as those before them are the same in both boots."""
    one, other = arrays[first][key], arrays[second][key]
    if not key.endswith("verify"):
        return one, other
    context = key.split(".")[0]
    tokens = [boots[name]["contexts"][context]["verify_tokens"] for name in (first, second)]
    same = next(
        (at for at, pair in enumerate(zip(*tokens, strict=True)) if pair[0] != pair[1]), len(tokens[0]) - 1
    )
    return one[: same + 1], other[: same + 1]


def _pair(boots: str, key: str, one: numpy.ndarray, other: numpy.ndarray) -> str:
    difference = one.astype(float) - other
    equal = (one.argmax(-1) == other.argmax(-1)).mean()
    return (
        f"| {boots} | {key} ({len(one)}) | {numpy.sqrt((difference**2).mean()):.2e} | "
        f"{abs(difference).max():.2e} | {numpy.sqrt((one.astype(float) ** 2).mean()):.3f} | {equal:.0%} |"
    )


def main() -> None:
    """Run or report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=("run", "report"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=560.0)
    parser.add_argument("--only", action="append", metavar="GLOB", help="boot what is named so, as float32.*")
    options = parser.parse_args()
    if options.command == "run":
        run(options.folder.resolve(), options.seconds, options.only or ["*"])
    print("\n".join(report(options.folder)))


if __name__ == "__main__":
    main()
