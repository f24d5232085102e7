from guardrail.adapters.launches import recorded
from guardrail.families.announcements import announce, listening


def test_listeners_hear_what_is_announced_inside_their_block():
    heard, outer = [], []
    with listening(outer.append):
        announce("before")
        with listening(heard.append):
            announce("inside")
        announce("after")
    announce("outside")
    assert heard == ["inside"]
    assert outer == ["before", "inside", "after"]


def test_announced_launches_are_recorded():
    with recorded() as symbols:
        announce("cuda_kernel")
    assert symbols == ["cuda_kernel"]
