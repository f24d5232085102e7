"""Descriptions of engines: of a fake vLLM, which the real script boots, and of servers."""

from pathlib import Path

import yaml

FAKE_VLLM = Path(__file__).parents[1] / "data" / "fake_vllm"


def fake_engine(
    folder: Path,
    name: str = "engine.yaml",
    speculation: bool = False,
    own_cache: bool = True,
    **settings: object,
) -> Path:
    """Describe a fake vLLM.

    Args:
        folder: Where the description is written.
        name: Its file.
        speculation: Whether a step gives three tokens.
        own_cache: Whether the description names a compile cache.
        settings: What the fake reads of its environment: ``step_seconds=0.01``.
    """
    arguments: dict[str, object] = {"model": "tiny"}
    if speculation:
        arguments["speculative_config"] = {"method": "ngram", "num_speculative_tokens": 2}
    environment = {
        "PYTHONPATH": str(FAKE_VLLM),
        **{f"FAKE_{key.upper()}": str(value) for key, value in settings.items()},
    }
    if own_cache:
        environment["VLLM_CACHE_ROOT"] = str(folder / "own-cache")
    return _write(folder / name, {"engine": "vllm", "arguments": arguments, "environment": environment})


def server_engine(folder: Path, url: str, name: str = "server.yaml") -> Path:
    """Describe a running server."""
    return _write(folder / name, {"engine": "server", "url": url, "model": "tiny", "timeout_seconds": 20.0})


def _write(path: Path, description: dict[str, object]) -> Path:
    path.write_text(yaml.safe_dump(description), encoding="utf-8")
    return path
