"""Plant a gate without its upper bound, and show what still looks well and what catches it.

python examples/dropped_work/run.py [--model tiny-decode|qwen2.5-7b|qwen2.5-14b] [--json FILE]
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
if DEVICE == "cpu":
    # Triton reads this when a kernel is decorated.
    os.environ["TRITON_INTERPRET"] = "1"

from comparison import Run, run_engines, twin_bits  # noqa: E402

from guardrail.compiled.architectures import ARCHITECTURES  # noqa: E402
from guardrail.spec.profile_files import load_profiles  # noqa: E402

HERE = Path(__file__).resolve().parent
GUARDS = HERE / "guards.yaml"
PROMPTS = {"cuda": ((3,), (17,), (101,), (1009,)), "cpu": ((3,),)}
NEW_TOKENS = {"cuda": 64, "cpu": 4}
SEPARATION = 2.0
"""How many times the rounding class a logit must be off to count as different, as in `logits compare`."""


def main() -> int:
    """Run the story; 0 where each of the three catches the defect and none blames the production gate."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--model", choices=("tiny-decode", "qwen2.5-7b", "qwen2.5-14b"), default="tiny-decode"
    )
    parser.add_argument("--json", type=Path, help="file to write the figures to")
    arguments = parser.parse_args()
    model = load_profiles(GUARDS, frozenset(ARCHITECTURES)).models[arguments.model]
    where = torch.cuda.get_device_name() if DEVICE == "cuda" else "Triton's interpreter, no GPU"
    _say(f"dropped work on {model.name}, {where}")
    reference, production, planted = run_engines(model, DEVICE, PROMPTS[DEVICE], NEW_TOKENS[DEVICE])
    story = {
        "model": model.name,
        "device": where,
        "engines": [_figures(run, reference, production) for run in (reference, production, planted)],
        "twins": dict(zip(("differing", "outputs"), twin_bits(model, DEVICE), strict=True)),
        "guards": _check(),
    }
    caught = _tell(story)
    if arguments.json:
        arguments.json.write_text(json.dumps(story | {"caught": caught}, indent=1) + "\n")
    return 0 if all(caught.values()) else 1


def _figures(run: Run, reference: Run, production: Run) -> dict[str, Any]:
    same = [one == other for one, other in zip(run.text, production.text, strict=False)]
    return {
        "engine": run.name,
        "arm": run.arm,
        "argmax": int(run.logits[0].argmax()),
        "same_tokens": same.index(False) if False in same else len(same),
        "tokens": len(same),
        "max_delta": float((run.logits - reference.logits).abs().max()),
        "ms_per_step": run.milliseconds,
    }


def _check() -> dict[str, dict[str, str]]:
    """Check the guards in a process of its own, as a user would."""
    command = [sys.executable, "-m", "guardrail", "check", "--guards", str(GUARDS), "--format", "json"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if not ended.stdout:
        raise SystemExit(f"{' '.join(command)} gave no report: {ended.stderr}")
    return {guard["id"]: guard["verdicts"][0] for guard in json.loads(ended.stdout)["guards"]}


def _tell(story: dict[str, Any]) -> dict[str, bool]:
    """Print the story, and say what caught the defect."""
    _say("\nengine      ffn_down by    argmax   same text   max |delta|  ms a step")
    for row in story["engines"]:
        step = "-" if row["ms_per_step"] is None else f"{row['ms_per_step']:.3f}"
        same = f"{row['same_tokens']} of {row['tokens']}" if row["tokens"] else "-"
        _say(
            f"{row['engine']:<12}{row['arm']:<12}{row['argmax']:>9}{same:>12}{row['max_delta']:>14.3g}"
            f"{step:>11}"
        )
    _, production, planted = story["engines"]
    twins, guards = story["twins"], story["guards"]
    differing = f"{twins['differing']} of {twins['outputs']} outputs differ in a bit"
    _say(f"\nv2_pf against v2_pf_dpl, both behind the planted gate: {differing}")
    rounding = production["max_delta"]
    limit = SEPARATION * rounding
    caught = {
        "dispatch guard": _alone(guards, "declared"),
        "coverage run": _alone(guards, "executed"),
        "first-step logits": planted["max_delta"] > limit,
    }
    sentences = {
        "dispatch guard": guards["planted-declared"]["sentence"],
        "coverage run": guards["planted-executed"]["sentence"],
        "first-step logits": (
            f"max |delta| is {planted['max_delta']:.3g}, must be at most {limit:.3g} "
            f"({SEPARATION:g} x the rounding class {rounding:.3g})"
        ),
    }
    _say("\ncaught by")
    for name, found in caught.items():
        _say(f"  {name:<19}{'yes' if found else 'NO':<5}{sentences[name]}")
    return caught


def _alone(guards: dict[str, dict[str, str]], kind: str) -> bool:
    """Tell whether a guard is red on the planted gate and green on the production one."""
    return guards[f"production-{kind}"]["status"] == "pass" and guards[f"planted-{kind}"]["status"] == "fail"


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
