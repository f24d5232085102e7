"""Stand-ins for NVIDIA's profilers: shell scripts that note how they were called and copy prepared files."""

import shlex
from pathlib import Path

_NCU = """#!/bin/sh
echo "$@" >> {calls}
report=; log=; import=
while [ $# -gt 0 ]; do
    case "$1" in
        --export) report="$2"; shift ;;
        --log-file) log="$2"; shift ;;
        --import) import="$2"; shift ;;
    esac
    shift
done
if [ -n "$import" ]; then
    grep -q damaged "$import" && echo "==ERROR== Failed to load report file." && exit 1
    cat {table}; exit 0
fi
{body}
"""
_NSYS = """#!/bin/sh
echo "$@" >> {calls}
for word in "$@"; do case "$word" in --output=*) output="${{word#--output=}}" ;; esac; done
[ "$1" = export ] && cp {database} "$output" && exit 0
{body}
"""


def install_fake_ncu(folder: Path, table: Path, body: str = 'echo report > "$report"') -> Path:
    """Write an ``ncu`` that makes a report as `body` says and prints a table for every import.

    Returns:
        The file that its command lines are appended to.
    """
    return _install(folder, "ncu", _NCU, body, table=table)


def install_fake_nsys(
    folder: Path, database: Path, body: str = 'echo report > "$output"; echo hello'
) -> Path:
    """Write an ``nsys`` that records as `body` says and copies a database for every export.

    Returns:
        The file that its command lines are appended to.
    """
    return _install(folder, "nsys", _NSYS, body, database=database)


def _install(folder: Path, name: str, script: str, body: str, **files: Path) -> Path:
    calls = folder / f"{name}.calls"
    quoted = {key: shlex.quote(str(path)) for key, path in files.items()}
    tool = folder / name
    tool.write_text(script.format(calls=shlex.quote(str(calls)), body=body, **quoted))
    tool.chmod(0o755)
    return calls
