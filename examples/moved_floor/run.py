"""Follow the README's commands in a scratch repository, and stop where one ends otherwise than it says.

python examples/moved_floor/run.py [--model one-layer|qwen2.5-7b] [--json FILE]
"""

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
_BLOCK = re.compile(r"^```sh exit=(\d)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_ENDED = "\x1e"
"""Begins the line that tells the end of a block."""
_ON_7B = {
    "guardrail check": "guardrail check --guards guards-7b.yaml",
    "guardrail reanchor pace": "guardrail reanchor pace-7b --guards guards-7b.yaml",
    "guardrail history pace": "guardrail history pace-7b --guards guards-7b.yaml",
    "guards.yaml; git": "guards-7b.yaml; git",
    "-3.7%": "-1.8%",
}
"""What is another word in the story of 7B's geometry."""


@dataclass(slots=True)
class Block:
    """One block of commands, and what it printed."""

    commands: str
    expected: int
    """Exit code that the README states."""
    output: str = ""
    code: int | None = None
    """None where an earlier block ended otherwise than expected."""


def main() -> int:
    """Run the story; 0 where every block ends as the README says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", choices=("one-layer", "qwen2.5-7b"), default="one-layer")
    parser.add_argument("--json", type=Path, help="file to write commands, outputs and exit codes to")
    arguments = parser.parse_args()
    on_7b = arguments.model == "qwen2.5-7b"
    blocks = list(_blocks((HERE / "README.md").read_text(encoding="utf-8"), _ON_7B if on_7b else {}))
    _run(blocks, {} if on_7b else {"CUDA_VISIBLE_DEVICES": ""})
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(block) for block in blocks], indent=1) + "\n")
    return 0 if all(block.code == block.expected for block in blocks) else 1


def _blocks(readme: str, other_words: dict[str, str]) -> Iterator[Block]:
    for code, commands in _BLOCK.findall(readme):
        for word, other in other_words.items():
            commands = commands.replace(word, other)
        yield Block(commands, int(code))


def _run(blocks: list[Block], variables: dict[str, str]) -> None:
    """Run all blocks in one shell, so that they share its folder, and print what they print."""
    script = "".join(
        f"{block.commands}ended=$?; printf '{_ENDED}%d\\n' $ended; [ $ended = {block.expected} ] || exit 1\n"
        for block in blocks
    )
    # A person follows the README; in CI no anchor is moved, which the story shows where it says so.
    kept = {name: value for name, value in os.environ.items() if name != "CI"}
    path = f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}"
    with subprocess.Popen(
        ["bash", "-c", script],
        cwd=ROOT,
        env=kept | variables | {"PATH": path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as shell:
        assert shell.stdout is not None
        for block in blocks:
            _say("".join(f"$ {line}\n" for line in block.commands.splitlines()))
            for line in shell.stdout:
                if line.startswith(_ENDED):
                    block.code = int(line.removeprefix(_ENDED))
                    break
                block.output += line
                _say(line)
            _say(f"[exit code {block.code}, expected {block.expected}]\n\n")
            if block.code != block.expected:
                return


def _say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
