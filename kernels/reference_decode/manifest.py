"""What the reference decode engine states about itself."""

from dataclasses import replace

from guardrail.families.interface import Control, Engine, Family

_PACKAGE = "guardrail.kernels.reference_decode"

_ENGINE = Engine(
    name="engine",
    start=f"{_PACKAGE}.start:start",
    reference=f"{_PACKAGE}.start:start_with_reference_arm",
    forced_arms={"v1": f"{_PACKAGE}.start:start_with_reference_arm"},
)


def _mutant(start: str, module: str = "faulty_starts") -> Engine:
    return replace(_ENGINE, start=f"{_PACKAGE}.{module}:{start}")


_CONTROLS = (
    Control(
        "late-scratch",
        "Attention scratch is allocated after the KV budget was fixed.",
        _mutant("start_with_late_scratch"),
        ("scratch_bytes_after_profile",),
    ),
    Control(
        "scales-forgotten",
        "The KV budget counts packed keys and values without the scales beside them.",
        _mutant("start_without_scales_in_budget"),
        ("kv_bytes_per_token", "kv_tokens"),
    ),
    Control(
        "planes-missing",
        "The engine asks for dense planes, and the six-bit matrices have none.",
        _mutant("start_without_planes"),
        ("accidental_fallbacks",),
    ),
    Control(
        "idle-steps",
        "The GPU idles at the end of every step.",
        _mutant("start_slowly"),
        ("tokens_per_second", "ms_per_step", "weight_stream_fraction"),
    ),
    Control(
        "frozen-capture",
        "A captured step starts from token 0, whatever the token is.",
        _mutant("start_with_frozen_capture"),
        ("modes_differ", "differing_logits"),
    ),
    Control(
        "gate-without-upper-bound",
        "Six-bit rows of any length take the pipelined arm, which covers two tiles.",
        _mutant("start_with_unbounded_gate", "faulty_logits"),
        ("max_abs_delta", "mean_abs_delta", "kl", "rounding_multiple"),
    ),
    Control(
        "token-0",
        "Every step starts from token 0, whatever the token is.",
        _mutant("start_on_token_zero", "faulty_logits"),
        ("argmax_differs",),
    ),
    Control(
        "unwritten-logit",
        "The last logit is never written.",
        _mutant("start_with_unwritten_logit", "faulty_logits"),
        ("nonfinite_logits",),
    ),
    Control(
        "shared-token",
        "Every sequence of a batch is given the first one's token.",
        _mutant("start_with_shared_token", "faulty_logits"),
        ("batch_max_abs_delta", "batch_multiple"),
    ),
)

FAMILY = Family(
    name="reference_decode",
    title="decode step of a Llama-shaped model over the bundled kernels",
    engines=(replace(_ENGINE, controls=_CONTROLS),),
)
