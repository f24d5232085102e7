"""Start an engine: load the model and its scratch, fix the KV budget, allocate the rest."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch

from guardrail.errors import MeasurementError
from guardrail.families.decode import DecodeOptions, KvBudget
from guardrail.families.interface import Case, Choice
from guardrail.families.models import ModelProfile
from guardrail.kernels.kquants.arm_counts import ArmCounts
from guardrail.kernels.kquants.matrix import QuantizedMatrix
from guardrail.kernels.q4k import geometry as q4k
from guardrail.kernels.q6k import gate as q6k_gate
from guardrail.kernels.q6k import geometry as q6k
from guardrail.kernels.reference_decode import budget
from guardrail.kernels.reference_decode.attention import AttentionPool
from guardrail.kernels.reference_decode.cache import allocate_cache
from guardrail.kernels.reference_decode.engine import DecodeEngine
from guardrail.kernels.reference_decode.geometry import BLOCK_ELEMENTS, Geometry, geometry_of
from guardrail.kernels.reference_decode.gguf_weights import GgufWeights
from guardrail.kernels.reference_decode.model import Model, load_model
from guardrail.kernels.reference_decode.random_weights import RandomWeights
from guardrail.kernels.reference_decode.step import Step, allocate_buffers
from guardrail.kernels.reference_decode.weights import RawMatrix, Weights

_HOST_MEMORY = 2**30
"""What an engine on the host may use, where its options state nothing."""

Pick = Callable[[Case], Choice]


def start(model: ModelProfile, options: DecodeOptions, device: str) -> DecodeEngine:
    """Start an engine as it should be.

    Args:
        model: The geometry, where weights are random; a GGUF file states its own.
        options: What it is started with.
        device: ``cpu`` or ``cuda``.

    Raises:
        MeasurementError: The model lacks something, or its sequences do not fit the KV budget.
    """
    return Assembly().start(model, options, device)


def start_with_reference_arm(model: ModelProfile, options: DecodeOptions, device: str) -> DecodeEngine:
    """Start an engine that multiplies every q6_K matrix by v1."""
    return Assembly(pick_q6k=q6k_gate.pick_v1).start(model, options, device)


@dataclass(frozen=True, slots=True)
class Assembly:
    """How an engine is put together; the defaults are right."""

    pick_q6k: Pick | None = None
    """Gate of the six-bit matrices; the one of production where None."""
    scratch_at_load: bool = True
    """Whether attention layers allocate their scratch while the model is loaded."""
    token_bytes: Callable[[Geometry], int] = budget.token_bytes
    make_matrix: Callable[..., QuantizedMatrix] = QuantizedMatrix.from_raw
    wrap: Callable[[Step], Step] = lambda step: step
    """What the step is replaced by."""

    def start(self, model: ModelProfile, options: DecodeOptions, device: str) -> DecodeEngine:
        """See `start`."""
        weights: Weights = (
            GgufWeights(options.weights, device)
            if options.weights
            else RandomWeights(geometry_of(model), options.seed, device)
        )
        counts = ArmCounts()
        matrix_bytes = 0

        def make(name: str, raw: RawMatrix) -> QuantizedMatrix:
            nonlocal matrix_bytes
            matrix_bytes += _held_bytes(raw, options.planes)
            return self.make_matrix(
                name,
                raw.quantization,
                raw.blocks,
                device,
                plane=options.planes and raw.quantization == "q6_k",
                threshold=options.matvec_threshold,
                pick=self.pick_q6k if raw.quantization == "q6_k" else None,
                block_units=_tile_units(options.block_units, raw),
                counts=counts,
            )

        loaded = load_model(weights, make, options.context, device)
        geometry = loaded.geometry
        pool = AttentionPool(geometry, options.sequences, device)
        loaded_scratch = pool.load() if self.scratch_at_load else None
        fixed = self._budget(loaded, matrix_bytes + _other_bytes(loaded), pool, options, device)
        scratch = pool.adopt()
        del loaded_scratch  # the builder's hold keeps the set from here on
        fixed = replace(
            fixed,
            scratch_bytes=pool.resident_bytes(),
            scratch_bytes_after_profile=pool.resident_bytes() - fixed.scratch_bytes,
        )
        cache = allocate_cache(geometry, options.sequences, options.context, device)
        buffers = allocate_buffers(geometry, options.sequences, options.context, device)
        step = Step(loaded, pool.attention(scratch), cache, buffers, options.context)
        return DecodeEngine(self.wrap(step), options, fixed, counts)

    def _budget(
        self, model: Model, weight_bytes: int, pool: AttentionPool, options: DecodeOptions, device: str
    ) -> KvBudget:
        scratch = pool.resident_bytes()
        if options.memory_bytes is None and device != "cpu":
            available = _free_bytes(device)
        else:
            available = (options.memory_bytes or _HOST_MEMORY) - weight_bytes - scratch
        fixed = budget.fix_budget(available, self.token_bytes(model.geometry), scratch)
        wanted = options.sequences * options.context
        if wanted > fixed.tokens:
            raise MeasurementError(
                f"{options.sequences} sequences of {options.context} tokens need {wanted} tokens of KV "
                f"cache, and {fixed.available_bytes} bytes hold {fixed.tokens}; give it more memory or less "
                "context"
            )
        return fixed


def _tile_units(block_units: int | None, raw: RawMatrix) -> int | None:
    """Narrow a stated tile to the row: the units behind a row's end are computed as zeros."""
    if block_units is None:
        return None
    elements = raw.blocks.shape[1] * BLOCK_ELEMENTS
    units = elements // (q4k.UNIT_ELEMENTS if raw.quantization == "q4_k" else q6k.UNIT_ELEMENTS)
    return min(block_units, 1 << (units - 1).bit_length())


def _held_bytes(raw: RawMatrix, planes: bool) -> int:
    """Size a matrix in all layouts that it is held in."""
    if raw.quantization != "q6_k":
        return raw.blocks.numel()
    rows, row_blocks, _ = raw.blocks.shape
    plane = q6k.plane_row_bytes(row_blocks) if planes else 0
    return rows * (row_blocks * q6k.PADDED_BLOCK_BYTES + plane)


def _other_bytes(model: Model) -> int:
    """Size the embedding, norms and biases."""
    vectors = [model.embedding, model.norm]
    for layer in model.layers:
        vectors += [layer.attention_norm, layer.ffn_norm]
        vectors += [] if layer.bias is None else [layer.bias]
    return sum(vector.nbytes for vector in vectors)


def _free_bytes(device: str) -> int:
    """Ask the driver what is free, with what torch holds and does not use."""
    free, _ = torch.cuda.mem_get_info(device)
    return int(free) + torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
