"""Guards files as people write them, for edits that must leave all but an anchor alone."""

import json
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from helpers.anchors import STATED

OLD = "sha256:" + "0" * 64
OTHER = "sha256:" + "1" * 64
METRIC = "spill_bytes"

_TITLES = ("nothing spills", "größer als 8 µs: 速度", "it's # no comment", "😀 {braces} [and] *stars* & more")
_COMMENTS = ("", "  # why: measured, {x: 1}", "   #", " # ü 速 😀")
_PAST: dict[str, Any] = {
    **{key: value for key, value in STATED.items() if key != "date"},
    "evidence": OTHER,
    "valid_from": "2026-01-02",
    "valid_until": "2026-12-03",
}


@dataclass(frozen=True, slots=True)
class GuardsText:
    """A guards file whose only derived bound lies between two texts that must not change."""

    before: str
    bound: str
    after: str
    profile: str | None
    """The profile to move the anchor of."""
    anchored: bool
    """True where that profile has an anchor, with evidence `OLD`."""

    @property
    def text(self) -> str:
        """The whole file."""
        return self.before + self.bound + self.after


@st.composite
def guards_texts(draw: st.DrawFn) -> GuardsText:
    """Draw a guards file of several guards in mixed styles; one of them is to be anchored."""
    line_break = draw(st.sampled_from(["\n", "\n", "\r\n"]))
    head = draw(st.sampled_from(["", "# first line, {not: yaml\n", "\ufeff", "---\n", "%YAML 1.2\n---\n"]))
    step = draw(st.sampled_from([0, 2, 3]))
    guards = [_other_guard(draw, f"other-{number}", step) for number in range(draw(st.integers(0, 2)))]
    place = draw(st.integers(0, len(guards)))
    before, bound, after, profile, anchored = _guard(draw, step)
    before = head + "version: 1\nguards:\n" + "".join(guards[:place]) + before
    after += "".join(guards[place:])
    if draw(st.booleans()):
        after += draw(st.sampled_from(["# the end\n", "\n\n", "...\n"]))
    if draw(st.booleans()):
        after = after.removesuffix("\n")
    before, bound, after = (part.replace("\n", line_break) for part in (before, bound, after))
    return GuardsText(before, bound, after, profile, anchored)


def _other_guard(draw: st.DrawFn, name: str, step: int) -> str:
    pad = " " * step
    if draw(st.booleans()):
        bounds = "{dropped_units: {equals: 0}}"
        return f"{pad}- {{id: {name}, title: t, probe: dispatch, subject: s, require: {bounds}}}\n"
    shared = draw(st.sampled_from(["[]", f"&{name} [qwen2.5-7b]", "\n" + pad + "    - qwen2.5-7b"]))
    return (
        f"{pad}- id: {name}{draw(st.sampled_from(_COMMENTS))}\n"
        f"{pad}  title: >-\n{pad}    folded\n{pad}    text\n"
        f"{pad}  probe: dispatch\n\n{pad}  subject: s\n{pad}  models: {shared}\n"
        f"{pad}  require:\n{pad}    dropped_units: {{equals: 0,}} # {name}\n"
    )


def _guard(draw: st.DrawFn, step: int) -> tuple[str, str, str, str | None, bool]:
    """Draw the guard to be anchored: the text before, of and after its bound, and what to move there."""
    title = json.dumps(draw(st.sampled_from(_TITLES)), ensure_ascii=False)
    profile = draw(st.sampled_from([None, "h200"]))
    anchors = _anchors(draw, profile)
    history = [_PAST | ({"profile": profile} if profile else {})] * draw(st.integers(0, 2))
    pad = " " * step
    keys = f"id: pace, title: {title}, probe: resources, subject: s, archs: [sm_90]"
    other = "blocks_per_sm: {floor: 1}"
    anchored = anchors is not None and (profile is None or profile in anchors)
    if draw(st.booleans()):
        bound = _flow_bound(draw, anchors, history)
        lead = draw(st.sampled_from(["", f"{other}, "]))
        tail = (
            draw(st.sampled_from(["}}\n", "} }  # c\n", ",}}\n", f", {other}}}}}\n"])) if not lead else "}}\n"
        )
        return f"{pad}- {{{keys}, require: {{{lead}{METRIC}: ", bound, tail, profile, anchored
    before = f"{pad}- " + f"\n{pad}  ".join(keys.split(", ", 1)[0:1]) + "\n"
    before += f"{pad}  title: {title}\n{pad}  probe: resources\n{pad}  subject: s\n{pad}  archs: [sm_90]\n"
    before += f"{pad}  require:{draw(st.sampled_from(_COMMENTS))}\n"
    before += draw(st.sampled_from(["", f"{pad}    {other}\n"]))
    inside = f"{pad}    "
    after = "" if other in before else f"{inside}{other}{draw(st.sampled_from(_COMMENTS))}\n"
    after = draw(st.sampled_from(["", "\n", f"{inside}# about the next\n"])) + after
    if draw(st.booleans()):
        quoted = draw(st.sampled_from([METRIC, f"'{METRIC}'", f'"{METRIC}"']))
        comment = draw(st.sampled_from(_COMMENTS))
        bound = _flow_bound(draw, anchors, history)
        return f"{before}{inside}{quoted}: ", bound, f"{comment}\n{after}", profile, anchored
    head = f"{before}{inside}{METRIC}:{draw(st.sampled_from(_COMMENTS))}\n"
    return head, _block_bound(draw, anchors, history, inside + "  "), after, profile, anchored


def _anchors(draw: st.DrawFn, profile: str | None) -> dict[str, Any] | None:
    stated = STATED | {"evidence": OLD}
    if draw(st.booleans()):
        stated = stated | {"ref": "#5, a: {b}"}
    others = {"sm_90": STATED | {"evidence": OTHER}}
    choices: list[dict[str, Any] | None] = [None]
    choices += [stated] if profile is None else [others, {profile: stated}, others | {profile: stated}]
    drawn: dict[str, Any] | None = draw(st.sampled_from(choices))
    return drawn


def _flow_bound(draw: st.DrawFn, anchors: dict[str, Any] | None, history: list[dict[str, Any]]) -> str:
    gap = draw(st.sampled_from(["", " "]))
    parts = [f"slack: {draw(st.sampled_from(['2%', chr(34) + '2%' + chr(34), chr(39) + '2%' + chr(39)]))}"]
    if anchors is not None:
        parts.append(f"anchor: {_flow(draw, anchors)}")
    if history or draw(st.sampled_from([True, False])):
        parts.append("history: [" + ", ".join(_flow(draw, past) for past in history) + "]")
    return "{" + gap + ", ".join(draw(st.permutations(parts))) + draw(st.sampled_from(["", ","])) + gap + "}"


def _block_bound(
    draw: st.DrawFn, anchors: dict[str, Any] | None, history: list[dict[str, Any]], pad: str
) -> str:
    parts = [f"{pad}slack: 2%{draw(st.sampled_from(_COMMENTS))}\n"]
    if anchors is not None:
        parts.append(f"{pad}anchor:{_value(draw, anchors, pad)}")
    if history:
        dash = pad + draw(st.sampled_from(["", "  "])) + "- "
        if draw(st.booleans()):
            items = "".join(
                f"{dash}{_flow(draw, past)}{draw(st.sampled_from(_COMMENTS))}\n" for past in history
            )
            parts.append(f"{pad}history:\n{items}")
        else:
            parts.append(f"{pad}history: [" + ", ".join(_flow(draw, past) for past in history) + "]\n")
    return "".join(draw(st.permutations(parts)))


def _value(draw: st.DrawFn, value: Any, pad: str) -> str:
    """Write what follows a key in a block, in either style."""
    if not isinstance(value, dict):
        return f" {_scalar(draw, value)}{draw(st.sampled_from(_COMMENTS))}\n"
    if draw(st.booleans()):
        return f" {_flow(draw, value)}{draw(st.sampled_from(_COMMENTS))}\n"
    deeper = pad + draw(st.sampled_from([" ", "  ", "    "]))
    lines = "".join(f"{deeper}{key}:{_value(draw, each, deeper)}" for key, each in value.items())
    return f"{draw(st.sampled_from(_COMMENTS))}\n{lines}"


def _flow(draw: st.DrawFn, value: Any) -> str:
    if not isinstance(value, dict):
        return _scalar(draw, value)
    parts = [f"{key}: {_flow(draw, each)}" for key, each in value.items()]
    return "{" + draw(st.sampled_from([", ", ",  "])).join(parts) + "}"


def _scalar(draw: st.DrawFn, value: Any) -> str:
    if not isinstance(value, str):
        return json.dumps(value)
    single = "'" + value.replace("'", "''") + "'"
    return draw(st.sampled_from([json.dumps(value, ensure_ascii=False), single]))
