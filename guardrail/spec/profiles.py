"""Profiles: the devices and model geometries that guards are anchored to."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field, model_validator

from guardrail.families.models import ModelProfile, Tensor
from guardrail.spec.fields import Slug, Strict, Text

Count = Annotated[int, Field(gt=0)]


class ProfileFile(Strict):
    """A profile as its file states it."""

    name: Slug = Field(description="The file's name without its ending.")


class DeviceProfile(ProfileFile):
    """A GPU that guards are anchored to; a file in ``profiles/devices/``."""

    title: Text = Field(description="The name it is sold by.")
    device_name: Text = Field(description="The name that the driver reports, as nvidia-smi prints it.")
    arch: Text = Field(description="Architecture that kernels are compiled for.")
    sm_count: Count = Field(description="Streaming multiprocessors.")
    l2_bytes: Count = Field(description="Size of the L2 cache.")
    dram_bytes_per_second: Count = Field(description="Theoretical rate of the device's memory.")
    memory_bytes: Count = Field(description="Size of the device's memory.")


class TensorEntry(Strict):
    """One weight matrix, as a model profile's file states it."""

    name: Text
    rows: Count = Field(description="Output features.")
    columns: Count = Field(description="Input features.")
    quantization: Slug = Field(description="Lower-case name of the format: q6_k, q4_k, f16, int4.")
    layers: Count = Field(1, description="Layers that hold such a tensor.")


class ModelFile(ProfileFile):
    """A model geometry that guards are anchored to; a file in ``profiles/models/``.

    What is not known is left out.
    """

    layers: Count | None = None
    attention_layers: Count | None = Field(
        None, description="Layers with a KV cache that grows with the context; all of them where left out."
    )
    hidden_size: Count | None = None
    query_heads: Count
    kv_heads: Count
    head_size: Count
    scratch_head_size: Count | None = Field(
        None, description="Head size that attention scratch is sized by, where it is not the model's own."
    )
    vocabulary: Count | None = None
    tensors: list[TensorEntry] = Field(default_factory=list)
    drafter: Slug | None = Field(None, description="Profile of the draft model that it is served with.")

    @model_validator(mode="after")
    def _is_consistent(self) -> "ModelFile":
        if self.query_heads % self.kv_heads:
            raise ValueError(f"{self.query_heads} query heads cannot share {self.kv_heads} KV heads evenly")
        if self.attention_layers and self.layers and self.attention_layers > self.layers:
            raise ValueError(f"{self.attention_layers} attention layers are more than {self.layers} layers")
        return self

    def profile(self) -> ModelProfile:
        """Convert to what kernel families see."""
        stated = self.model_dump(exclude={"tensors"})
        return ModelProfile(**stated, tensors=tuple(Tensor(**entry.model_dump()) for entry in self.tensors))


@dataclass(frozen=True, slots=True)
class Profiles:
    """Every profile that guards may name."""

    devices: Mapping[str, DeviceProfile]
    models: Mapping[str, ModelProfile]
    architectures: Collection[str]
    """Names of the architectures that guardrail knows."""

    def names(self) -> frozenset[str]:
        """Collect what bounds may be keyed by."""
        return frozenset((*self.devices, *self.models, *self.architectures))
