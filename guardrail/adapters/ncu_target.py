"""The process that ncu watches: one warm call, then one between the profiler's start and stop."""

import pickle
import sys
from pathlib import Path


def main(request: Path) -> None:
    """Make the call that a request file of `ncu_counters` describes."""
    with request.open("rb") as file:
        sys.path[:] = pickle.load(file)
        operation, case, arm = pickle.load(file)
    import torch

    from guardrail.probes.references import resolve

    trial = resolve(operation.random)(case, 0, "cuda")
    trial.launch(arm)
    torch.cuda.synchronize()
    torch.cuda.profiler.start()  # type: ignore[no-untyped-call]
    trial.launch(arm)
    torch.cuda.synchronize()
    torch.cuda.profiler.stop()  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
