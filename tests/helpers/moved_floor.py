"""The example of a moved floor: running its story."""

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "moved_floor"


@dataclass(frozen=True)
class Story:
    """What the example's script did, and the repository that it left."""

    returncode: int
    printed: str
    blocks: list[dict[str, Any]]
    folder: Path

    def git(self, *arguments: str) -> str:
        """Ask the repository."""
        return subprocess.run(
            ["git", *arguments], cwd=self.folder, capture_output=True, text=True, check=True
        ).stdout

    def change(self) -> float:
        """Read the change from the old build, in percent, off the block that moves the anchor."""
        found = re.search(r"side by side: (\S+)%", self.blocks[-2]["output"])
        assert found, self.printed
        return float(found[1])


def tell(folder: Path, *options: str) -> Story:
    """Run the story with its temporary files in a folder."""
    report = folder / "story.json"
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    told = subprocess.run(
        [sys.executable, str(EXAMPLE / "run.py"), "--json", str(report), *options],
        env=environment
        | {
            "TMPDIR": str(folder),
            "GUARDRAIL_CACHE_DIR": str(folder / "cache"),
            "COLUMNS": "100",
            "LANG": "C.UTF-8",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.stderr == ""
    (repository,) = folder.glob("moved_floor.*")
    return Story(told.returncode, told.stdout, json.loads(report.read_text()), repository)
