"""The interface between guardrail and a family of kernels."""

from guardrail.families.interface import (
    Arm,
    Build,
    Case,
    Choice,
    Control,
    ExposingTrial,
    Family,
    Gate,
    Kernel,
    Operation,
    Plan,
    RandomTrial,
    Recording,
    Reference,
    Subject,
    Trial,
)
from guardrail.families.models import ModelProfile, Tensor

__all__ = [
    "Arm",
    "Build",
    "Case",
    "Choice",
    "Control",
    "ExposingTrial",
    "Family",
    "Gate",
    "Kernel",
    "ModelProfile",
    "Operation",
    "Plan",
    "RandomTrial",
    "Recording",
    "Reference",
    "Subject",
    "Tensor",
    "Trial",
]
