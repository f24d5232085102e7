"""Writers of a guards file that are killed at random moments; run as a program of its own."""

import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

from guardrail.spec.yaml_lines import read_yaml
from guardrail.store.guards_editor import Entry, Move, move_anchors
from helpers.anchors import STATED

LONGEST_LIFE = 0.04
"""Seconds that a writer is given at most."""


def evidence(number: int) -> str:
    """Name the evidence of one move."""
    return f"sha256:{number:064x}"


def newest(path: Path) -> int:
    """Read how many moves were made: the anchor comes behind its history."""
    return int(path.read_text().rpartition("sha256:")[2][:64], 16)


def write_for_ever(path: Path) -> None:
    """Move one anchor after the other, as fast as it goes."""
    number = newest(path)
    while True:
        anchor = STATED | {"value": number + 1, "evidence": evidence(number + 1)}
        past: Entry | None = {"value": number, "evidence": evidence(number)} if number % 50 == 0 else None
        move_anchors(path, [Move("pace", "rate", None, anchor, past, evidence(number))])
        number += 1


def main(path: Path, kills: int, seed: int) -> None:
    """Kill as many writers, and stop at a file that is neither an old one nor a new one.

    Prints:
        How many were killed, and how many moves they made.
    """
    lives = random.Random(seed)
    for _ in range(kills):
        writer = os.fork()
        if writer == 0:
            write_for_ever(path)
        time.sleep(lives.uniform(0, LONGEST_LIFE))
        os.kill(writer, signal.SIGKILL)
        _, status = os.waitpid(writer, 0)
        assert os.WIFSIGNALED(status), "the writer ended by itself"
        check(path)
    sys.stdout.write(f"{kills} {newest(path)}\n")


def check(path: Path) -> None:
    """Read the file as any other reader would."""
    data: Any = read_yaml(path, "expected a guards file").data
    bound = data["guards"][0]["require"]["rate"]
    number = int(bound["anchor"]["evidence"].removeprefix("sha256:"), 16)
    assert bound["anchor"]["value"] == number, bound
    assert [past["value"] for past in bound["history"]] == list(range(0, number, 50)), bound
    assert path.read_text().endswith("# the end\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
