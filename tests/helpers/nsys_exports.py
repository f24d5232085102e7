"""Small SQLite exports of Nsight Systems, after its published schema."""

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

PROCESS = 5 << 24
THREAD = PROCESS | 17
_TABLES = """
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE TARGET_INFO_GPU (
    id INTEGER, name TEXT, computeMajor INTEGER, computeMinor INTEGER, smCount INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (
    start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER,
    globalPid INTEGER, demangledName INTEGER, shortName INTEGER, registersPerThread INTEGER, gridX INTEGER,
    gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER, staticSharedMemory INTEGER,
    dynamicSharedMemory INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (
    start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER,
    bytes INTEGER, copyKind INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (
    start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER,
    bytes INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (
    start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER);
CREATE TABLE NVTX_EVENTS (
    start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER, textId INTEGER);
"""
_ROWS: dict[str, list[tuple[object, ...]]] = {
    "StringIds": [(1, "void scale<float>(float *, int)"), (2, "scale"), (3, "decode"), (4, "attend")],
    "TARGET_INFO_GPU": [(0, "NVIDIA H200", 9, 0, 132)],
    "CUPTI_ACTIVITY_KIND_KERNEL": [
        (2000, 6250, 0, 1, 7, 11, PROCESS, 1, 2, 40, 132, 2, 1, 256, 1, 1, 1024, 2048),
        (1000, 1900, 0, 1, 7, 10, PROCESS, 4, 4, 168, 64, 1, 1, 128, 1, 1, 0, 65536),
    ],
    "CUPTI_ACTIVITY_KIND_MEMCPY": [(500, 700, 0, 7, 9, PROCESS, 16000, 1)],
    "CUPTI_ACTIVITY_KIND_MEMSET": [(7000, 7100, 0, 7, 12, PROCESS, 4096)],
    "CUPTI_ACTIVITY_KIND_RUNTIME": [
        (100, 110, THREAD, 9, 0),
        (210, 220, THREAD, 10, 0),
        (310, 320, THREAD, 11, 0),
    ],
    "NVTX_EVENTS": [
        (200, 400, 59, None, THREAD, 3),
        (205, 230, 59, "attention", THREAD, None),
        (0, 900, 60, "a start-end range", THREAD, None),
    ],
}


def write_nsys_export(path: Path, without: Iterable[str] = (), extra: str = "") -> Path:
    """Write an export with two kernels, a copy and a fill.

    Args:
        path: The database to make.
        without: Tables to leave out, as nsys does for what was not recorded.
        extra: Further SQL.
    """
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(_TABLES)
        for table, rows in _ROWS.items():
            marks = ", ".join("?" * len(rows[0]))
            connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
        for table in without:
            connection.execute(f"DROP TABLE {table}")
        connection.executescript(extra)
        connection.commit()
    return path
