from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflection_app.loops.completeness.calls_made import CallsMade, has_same_effect, is_same_call
from reflection_app.loops.tool_calls import ToolCall, ToolSpec

PAID = {"payee_iban": "DE12 3456", "amount": 500, "note": "Invoice of March, as agreed by telephone"}
SEARCH = ToolSpec(
    name="search_web", parameters={"properties": {"q": {"type": "string"}, "most": {"type": "integer", "default": 10}}}
)


def call(tool: str, **arguments: Any) -> ToolCall:
    return ToolCall(tool=tool, arguments=arguments)


@pytest.mark.parametrize(
    "same",
    [
        {"q": "AI news", "most": 10},
        {"q": "  ai   NEWS. ", "most": "10"},
        {"q": ["AI news"], "filters": {}, "lang": None},
    ],
)
def test_a_call_is_the_same_however_it_is_written(same: dict[str, Any]) -> None:
    made = CallsMade([call("search_web", q="AI news")])
    assert made.holds(call("search_web", **same), tools=[SEARCH])
    assert not made.holds(call("search_news", **same), tools=[SEARCH])


@pytest.mark.parametrize("other", [{"q": "AI news 25"}, {"q": "AI news", "most": 20}, {"q": "AI news", "page": 2}, {}])
def test_another_call_is_new(other: dict[str, Any]) -> None:
    assert not CallsMade([call("search_web", q="AI news")]).holds(call("search_web", **other), tools=[SEARCH])


def test_the_same_to_the_same_is_a_second_time_whatever_text_goes_with_it() -> None:
    made = call("pay", **PAID)
    assert has_same_effect(call("pay", **PAID | {"note": "Please transfer it now, it is really overdue"}), made)
    assert has_same_effect(call("pay", **PAID | {"note": None}), made)
    assert not has_same_effect(call("pay", **PAID | {"amount": 501}), made)
    assert not has_same_effect(call("pay", **PAID | {"payee_iban": "DE99"}), made)
    assert not has_same_effect(call("pay", **PAID | {"currency": "USD"}), made), "a name is no free text"


def test_another_text_in_the_same_place_is_no_second_time() -> None:
    written = call("file_write", path="a.md", content="The first draft of what there is to say about it.")
    assert not has_same_effect(
        call("file_write", path="a.md", content="The second draft, which is far better."), written
    )
    posted = call("post", channel="general", text="Good morning to all of you out there")
    assert not has_same_effect(call("post", channel="general", text="The build is broken, look at it please"), posted)


def test_recipients_are_the_same_in_any_order() -> None:
    one = call("send_mail", to="a@x.org, b@x.org", subject="News", body="One long text that says something or other.")
    other = call("send_mail", to=["b@x.org", "A@x.org"], subject="news", body="Another long text that says it anew.")
    assert has_same_effect(one, other)


def test_to_read_again_is_new_once_something_was_changed() -> None:
    read = call("read_file", path="a.md")
    made = CallsMade([read])
    assert made.holds(read)
    made.calls.append(call("file_write", path="a.md", content="x"))
    assert not made.holds(read)
    made.calls.append(read)
    assert made.holds(read)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=8), VALUES, max_size=5))
def test_any_call_is_the_same_as_itself(arguments: dict[str, Any]) -> None:
    one = call("tool", x=1) if "x" in arguments else ToolCall(tool="tool", arguments=arguments)
    assert is_same_call(one, one, schema={})
    assert CallsMade([one]).holds(one)
