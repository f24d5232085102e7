"""Executable instances of a q6_K product, for guardrail's probes."""

import torch

from guardrail.families.interface import Case
from guardrail.kernels.kquants import random_bytes
from guardrail.kernels.kquants.geometry import BLOCK_ELEMENTS
from guardrail.kernels.kquants.trials import ProductTrial, random_groups, rows_of, tokens_of, unwritten
from guardrail.kernels.q6k import exposing as exposing_bytes
from guardrail.kernels.q6k import geometry, matvec, reference
from guardrail.kernels.q6k.blocks import pad
from guardrail.kernels.q6k.coverage import units
from guardrail.kernels.q6k.gate import PLANE_ARMS
from guardrail.kernels.q6k.plane import split


def exposing(case: Case, device: str) -> ProductTrial:
    """Make a trial that counts every unit of a case; its rows are those that counting takes.

    Args:
        case: Axes ``id`` and optionally ``layout``, ``tokens`` and ``block_units``.
        device: Where the tensors live.
    """
    raw, vector = exposing_bytes.exposing_inputs(units(case))
    return _trial(case, raw.to(device), vector.to(device).expand(tokens_of(case), -1, -1).contiguous())


def random(case: Case, seed: int, device: str) -> ProductTrial:
    """Make a trial on random q6_K bytes, the block factors around 2**-10, and normally distributed vectors.

    Args:
        case: Axes ``id`` and optionally ``rows``, ``layout``, ``tokens`` and ``block_units``.
        seed: Seed of both.
        device: Where the tensors are made and live.
    """
    drawn = random_bytes.generator(seed, device)
    shape = (rows_of(case), -(-int(case["id"]) // BLOCK_ELEMENTS))
    quantized = random_bytes.quantized((*shape, geometry.SUPER_SCALE_OFFSET), drawn)
    raw = torch.cat([quantized, random_bytes.factors((*shape, 1), drawn)], dim=-1)
    return _trial(case, raw, random_groups(case, drawn))


def _trial(case: Case, raw: torch.Tensor, groups: torch.Tensor) -> ProductTrial:
    """Lay the blocks out as a case says; in every layout where it says nothing."""
    layout = case.get("layout", "plane")
    return ProductTrial(
        blocks=raw if layout == "raw" else pad(raw),
        groups=groups,
        output=unwritten(len(groups), len(raw), str(raw.device)),
        block_units=int(case.get("block_units", geometry.BLOCK_UNITS)),
        launcher=matvec.launch,
        read_counts=exposing_bytes.read_counts,
        product=reference.product,
        units=units(case),
        plane=split(raw) if layout == "plane" else None,
        plane_arms=PLANE_ARMS,
    )
