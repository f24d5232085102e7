"""The running engine: prompts in, greedy tokens, logits and times out."""

import time
from collections.abc import Callable, Sequence
from itertools import pairwise

import torch

from guardrail.errors import MeasurementError
from guardrail.families.decode import Decoded, DecodeOptions, FirstStep, KvBudget, Mode, ServedTensor
from guardrail.kernels.kquants.arm_counts import ArmCounts
from guardrail.kernels.reference_decode.step import Step
from guardrail.kernels.reference_decode.weights import in_layer

_CONTEXT_SEED = 5


class DecodeEngine:
    """Implements `guardrail.families.decode.RunningEngine`.

    Prompts run through the decode step, token by token.

    Args:
        step: The step.
        options: What the engine was started with.
        budget: The KV budget that was fixed at the start.
        counts: Where the step's products are counted.
    """

    def __init__(self, step: Step, options: DecodeOptions, budget: KvBudget, counts: ArmCounts) -> None:
        self.budget = budget
        self.weight_bytes_per_step = step.model.weight_bytes_per_step
        self._step = step
        self._options = options
        self._counts = counts
        self._on_gpu = step.buffers.logits.is_cuda
        self._replay: Callable[[], None] | None = None
        self.modes: Sequence[Mode] = (Mode.EAGER, Mode.CAPTURED) if self._on_gpu else (Mode.EAGER,)

    def first_step_logits(self, prompts: Sequence[Sequence[int]], mode: Mode) -> FirstStep:
        """See `RunningEngine.first_step_logits`."""
        tokens = self._checked(prompts, new_tokens=0, context=0)
        self._run_prompts(tokens, self._launcher(mode), context=0)
        cache, length = self._step.cache, len(tokens[0])
        return FirstStep(
            prompts=tokens,
            mode=mode,
            logits=self._step.buffers.logits.cpu().clone(),
            tensors={
                in_layer(layer, "kv"): cache.stored(layer, length) for layer in range(len(cache.layers))
            },
        )

    def decode(
        self, prompts: Sequence[Sequence[int]], new_tokens: int, mode: Mode, context: int = 0
    ) -> Decoded:
        """See `RunningEngine.decode`."""
        tokens = self._checked(prompts, new_tokens, context)
        launch = self._launcher(mode)
        self._run_prompts(tokens, launch, context)
        time_steps = _time_on_gpu if self._on_gpu else _time_on_host
        seconds = time_steps(launch, new_tokens - 1)
        first = len(tokens[0]) - 1
        history = self._step.buffers.history[first : first + new_tokens]
        return Decoded(tuple(map(tuple, history.T.tolist())), seconds)

    def arms(self) -> Sequence[ServedTensor]:
        """See `RunningEngine.arms`."""
        return [
            ServedTensor(row.tensor, row.arm, row.because, not row.intended, row.calls)
            for row in self._counts.served
        ]

    def _run_prompts(
        self, prompts: tuple[tuple[int, ...], ...], launch: Callable[[], None], context: int
    ) -> None:
        buffers = self._step.buffers
        buffers.steps.zero_()
        buffers.places.positions.fill_(context)
        if context:
            self._step.cache.fill(context, _CONTEXT_SEED)
        columns = torch.tensor(prompts, device=buffers.tokens.device).T
        for column in columns:
            buffers.tokens.copy_(column)
            launch()

    def _launcher(self, mode: Mode) -> Callable[[], None]:
        if mode not in self.modes:
            raise MeasurementError(f"mode {mode}: a step can be captured in a CUDA graph on a GPU alone")
        if mode is Mode.EAGER:
            return self._step.run
        if self._replay is None:
            self._replay = _capture(self._step.run)
        return self._replay

    def _checked(
        self, prompts: Sequence[Sequence[int]], new_tokens: int, context: int
    ) -> tuple[tuple[int, ...], ...]:
        """Refuse what the engine was not started for."""
        sequences, vocabulary = self._step.buffers.logits.shape
        tokens = tuple(tuple(prompt) for prompt in prompts)
        lengths = {len(prompt) for prompt in tokens}
        if len(tokens) != sequences or len(lengths) != 1 or 0 in lengths:
            raise MeasurementError(
                f"{len(tokens)} prompts of {sorted(lengths)} tokens: the engine was started for {sequences}, "
                "equally long, of 1 token or more"
            )
        if not all(0 <= token < vocabulary for prompt in tokens for token in prompt):
            raise MeasurementError(f"a prompt holds a token outside the vocabulary of {vocabulary}")
        total = context + len(tokens[0]) + new_tokens
        if total > self._options.context:
            raise MeasurementError(
                f"{context} tokens of context, {len(tokens[0])} of prompt and {new_tokens} new ones are "
                f"{total}; the engine was started for {self._options.context} a sequence"
            )
        return tokens


def _capture(run: Callable[[], None]) -> Callable[[], None]:
    """Capture what `run` launches, after a first run that compiles it."""
    run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    replay: Callable[[], None] = graph.replay
    return replay


def _time_on_gpu(launch: Callable[[], None], steps: int) -> tuple[float, ...]:
    """Time steps by events between them: the host never waits."""
    events = [torch.cuda.Event(enable_timing=True) for _ in range(steps + 1)]
    events[0].record()
    for event in events[1:]:
        launch()
        event.record()
    torch.cuda.synchronize()
    return tuple(before.elapsed_time(after) / 1e3 for before, after in pairwise(events))


def _time_on_host(launch: Callable[[], None], steps: int) -> tuple[float, ...]:
    seconds = []
    for _ in range(steps):
        start = time.perf_counter()
        launch()
        seconds.append(time.perf_counter() - start)
    return tuple(seconds)
