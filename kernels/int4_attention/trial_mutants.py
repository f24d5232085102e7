"""Trials whose launches have one deliberate defect."""

from dataclasses import replace

import torch

from guardrail.families.interface import Case
from guardrail.kernels.int4_attention import launch
from guardrail.kernels.int4_attention.rotated_trials import RotatedAttention
from guardrail.kernels.int4_attention.trials import TILE, AttentionTrial, ExposingAttention, RandomAttention
from guardrail.kernels.int4_attention.write_trials import RandomWrite


class _TamperedSegments(AttentionTrial):
    """Change the partial results before the 3D arm reduces them."""

    def launch(self, arm: str) -> None:
        if arm != "3d":
            super().launch(arm)
            return
        launch.launch_segments(self.batch, self.partial_results, self.shape)
        self.tamper()
        launch.launch_reduction(self.batch, self.output, self.partial_results, self.shape)

    def tamper(self) -> None:
        raise NotImplementedError


class PoisonedMaximum(_TamperedSegments):
    """A row that sees no key of a visited segment reports a maximum of 0, above any score below zero."""

    def tamper(self) -> None:
        """See the class."""
        maxima = self.partial_results.maxima
        maxima.masked_fill_(maxima == -torch.inf, 0.0)


class SkippedSegment(_TamperedSegments):
    """The reduction leaves the last segment out."""

    def tamper(self) -> None:
        """See the class."""
        tiles = -(-self.seq_len // TILE)
        tiles_of_segment = -(-tiles // self.partial_results.segments)
        self.partial_results.maxima[..., (tiles - 1) // tiles_of_segment] = -torch.inf


class DoubledSegment(_TamperedSegments):
    """The reduction counts the first segment twice."""

    def tamper(self) -> None:
        """See the class."""
        self.partial_results.partials[..., 0, :] *= 2
        self.partial_results.exp_sums[..., 0] *= 2


class ForgottenToken(AttentionTrial):
    """The 3D arm never reduces the last query token of a sequence."""

    def launch(self, arm: str) -> None:
        """See the class."""
        if arm != "3d":
            super().launch(arm)
            return
        launch.launch_segments(self.batch, self.partial_results, self.shape)
        if self.query_len > 1:
            shorter = replace(self.batch, max_query_len=self.query_len - 1)
            launch.launch_reduction(shorter, self.output, self.partial_results, self.shape)


class SilentFallback(AttentionTrial):
    """The 3D arm runs the 2D kernel and says nothing."""

    def launch(self, arm: str) -> None:
        """See the class."""
        super().launch("2d" if arm == "3d" else arm)


class RandomPoisonedMaximum(PoisonedMaximum, RandomAttention):
    """The defect on random inputs."""


class RandomSkippedSegment(SkippedSegment, RandomAttention):
    """The defect on random inputs."""


class ExposingSkippedSegment(SkippedSegment, ExposingAttention):
    """The defect on exposing inputs."""


class ExposingDoubledSegment(DoubledSegment, ExposingAttention):
    """The defect on exposing inputs."""


class RandomForgottenToken(ForgottenToken, RandomAttention):
    """The defect on random inputs."""


class ExposingForgottenToken(ForgottenToken, ExposingAttention):
    """The defect on exposing inputs."""


class ExposingSilentFallback(SilentFallback, ExposingAttention):
    """The defect on exposing inputs."""


class AttentionWithoutSigns(RotatedAttention):
    """Queries and outputs are rotated without the signs that the cache was written with."""

    def __init__(self, case: Case, seed: int, device: str) -> None:
        super().__init__(case, seed, device)
        self.batch = replace(self.batch, signs=torch.ones_like(self.batch.signs))


class WriteWithoutZeroPoint(RandomWrite):
    """The cache write forgets to hide the zero point in the scale."""

    def write(self) -> None:
        """See the class."""
        super().write()
        half = self.cache.shape[3] // 2
        for low_byte in (half - 4, 2 * half - 4):
            self.cache[..., low_byte] &= 0xF0


class WriteOneLevelOff(RandomWrite):
    """One element of the whole cache is one level off."""

    def write(self) -> None:
        """See the class."""
        super().write()
        self.cache[0, 0, 0, 0] ^= 1


class WriteWithoutSigns(RandomWrite):
    """Keys and values are rotated without the signs."""

    def __init__(self, case: Case, seed: int, device: str) -> None:
        super().__init__(case, seed, device)
        if self.signs is not None:
            self.signs = torch.ones_like(self.signs)
