"""Time of calls inside a CUDA graph, and what the card can read."""

from collections.abc import Callable, Sequence

import torch

REPLAYS = 7
CALLS = 20


def time_calls(calls: Sequence[Callable[[], None]], replays: int = REPLAYS, at_least: int = CALLS) -> float:
    """Time one call, captured in a graph that takes turns over the given ones.

    Args:
        calls: The same work, over other memory each.
        replays: Replays of the graph; their median counts.
        at_least: Calls in the graph.

    Returns:
        Microseconds.
    """
    for call in calls:
        call()
    torch.cuda.synchronize()
    rounds = -(-at_least // len(calls))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(rounds):
            for call in calls:
                call()
    graph.replay()
    torch.cuda.synchronize()
    times = []
    for _ in range(replays):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) * 1e3 / (rounds * len(calls)))
    return sorted(times)[replays // 2]


def read_rate() -> float:
    """Measure how fast the card sums 1 GiB.

    Returns:
        Bytes in a second.
    """
    numbers = torch.ones(2**28, device="cuda")
    result = torch.empty([], device="cuda")
    microseconds = time_calls([lambda: torch.sum(numbers, dim=0, out=result)], at_least=10)
    return numbers.numel() * 4 / microseconds * 1e6
