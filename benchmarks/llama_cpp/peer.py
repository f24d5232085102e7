"""llama.cpp's matrix-vector product, measured by its own program."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_FORMATS = {"q6_k": "q6_K", "q4_k": "q4_K"}
_SECONDS = 120


@dataclass(frozen=True, slots=True)
class Peer:
    """The program that ``build.sh`` makes."""

    program: Path

    def measure(self, quantization: str, rows: int, columns: int, copies: int) -> dict[str, Any]:
        """Time one product and compare it with the dequantized one.

        Args:
            quantization: ``q6_k`` or ``q4_k``.
            rows: Rows of the matrix.
            columns: Columns, a multiple of 256.
            copies: Matrices that the products take turns over.

        Returns:
            What the program says: ``median_microseconds`` and ``best_microseconds`` a product, the
            quantization of the vector included, ``relative_error``, ``products`` in the graph and others.

        Raises:
            SystemExit: The program does not start, or refuses what it computed.
        """
        command = [str(self.program.absolute()), f"{_FORMATS[quantization]}:{rows}:{columns}:{copies}"]
        try:
            run = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise SystemExit(f"{' '.join(command)}: {error}") from error
        if run.returncode:
            raise SystemExit(f"{' '.join(command)}: exit {run.returncode}: {run.stderr.strip()}")
        measured: dict[str, Any] = json.loads(run.stdout)
        return measured
