"""Trials of the q4_K product as an engine runs it."""

from functools import partial

from guardrail.kernels.kquants.slower_trials import MoreRows
from guardrail.kernels.kquants.trials import exposing_through, random_through
from guardrail.kernels.q4k import served, trials

exposing = exposing_through(trials.exposing, served.launch)
random = random_through(trials.random, served.launch)
random_with_more_rows = partial(MoreRows, random)
