"""The interface between guardrail and a family of kernels."""

from guardrail.families.census import CensusRecord, Taken, dump_census, load_census
from guardrail.families.engine import Allocation, EngineOptions, EngineStart
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
    Pool,
    RandomTrial,
    Recording,
    Reference,
    Subject,
    Trial,
)
from guardrail.families.models import ModelProfile, Tensor
from guardrail.families.switches import read_switch

__all__ = [
    "Allocation",
    "Arm",
    "Build",
    "Case",
    "CensusRecord",
    "Choice",
    "Control",
    "EngineOptions",
    "EngineStart",
    "ExposingTrial",
    "Family",
    "Gate",
    "Kernel",
    "ModelProfile",
    "Operation",
    "Plan",
    "Pool",
    "RandomTrial",
    "Recording",
    "Reference",
    "Subject",
    "Taken",
    "Tensor",
    "Trial",
    "dump_census",
    "load_census",
    "read_switch",
]
