from guardrail.families.interface import Choice
from guardrail.kernels.kquants.arm_counts import ArmCounts, Served


def test_alike_products_are_counted_together_in_the_order_in_which_they_came():
    counts = ArmCounts()
    counts.count("ffn_down", Choice("v2"))
    counts.count("attn_v", Choice("dequantized", because="small"))
    counts.count("ffn_down", Choice("v2"))
    assert counts.served == (
        Served("ffn_down", "v2", "", intended=True, calls=2),
        Served("attn_v", "dequantized", "small", intended=True, calls=1),
    )
    assert counts.accidental == ()


def test_accidental_products_are_told_apart_from_intended_ones_of_the_same_arm():
    counts = ArmCounts()
    counts.count("ffn_down", Choice("v2", because="no plane"), intended=False)
    counts.count("ffn_down", Choice("v2", because="no plane"))
    assert counts.accidental == (Served("ffn_down", "v2", "no plane", intended=False, calls=1),)
    assert len(counts.served) == 2
