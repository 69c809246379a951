"""What one call's fix says about another call of the same tool."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflection_app.loops.diagnosis.diagnoses import FailedCall, ParamChange, ParamChangeKind
from reflection_app.loops.diagnosis.param_changes import carried_over, changes_between, done_again, in_words
from reflection_app.loops.tool_calls import ToolSpec


def done(
    failed: dict[str, Any],
    worked: dict[str, Any],
    new: dict[str, Any],
    *,
    tool: str = "search_all",
    schema: dict[str, Any] | None = None,
) -> dict[str, Any] | None:
    tools = (ToolSpec(name=tool, parameters=schema),) if schema else ()
    return carried_over(
        changes_between(failed, worked), FailedCall(tool=tool, params=new, error="Bad request", tools=tools)
    )


@pytest.mark.parametrize(
    ("failed", "worked", "new", "expected"),
    [
        ({"limit": 900, "q": "x"}, {"limit": 100, "q": "x"}, {"limit": 500, "q": "y"}, {"limit": 100, "q": "y"}),
        ({"q": "x"}, {"query": "x"}, {"q": "y z"}, {"query": "y z"}),
        ({"q": "x", "lang": "en"}, {"q": "x"}, {"q": "y", "lang": "de"}, {"q": "y"}),
        ({"units": "celsius"}, {"units": "metric"}, {"units": "celsius", "n": 3}, {"units": "metric", "n": 3}),
        ({"limit": 900}, {"limit": 100}, {"limit": 50}, None),
        ({"limit": 900}, {"limit": 100}, {"size": 500}, None),
        ({"city": "Rome"}, {"city": "Roma"}, {"city": "Paris"}, None),
        ({"id": 7}, {"id": 3}, {"id": 9}, None),
        ({"days": 3}, {"days": 3, "city": "Rome"}, {"days": 5}, None),
        ({"q": "x", "user_id": "a"}, {"q": "x"}, {"q": "y", "user_id": "b"}, None),
        ({"a": 1}, {"a": 1}, {"a": 2}, None),
    ],
)
def test_a_change_is_made_again_where_it_says_nothing_of_what_is_wanted(
    failed: dict[str, Any], worked: dict[str, Any], new: dict[str, Any], expected: dict[str, Any] | None
) -> None:
    assert done(failed, worked, new) == expected
    assert done(failed, worked, new, tool="transfer_rows") is None


def test_the_tools_schema_has_the_last_word() -> None:
    limited = {"type": "object", "properties": {"limit": {"type": "integer", "maximum": 80}}}
    assert done({"limit": 900}, {"limit": 100}, {"limit": 500}, schema=limited) == {"limit": 80}
    closed = {"type": "object", "additionalProperties": False, "properties": {"q": {"type": "string"}}}
    assert done({"q": "x"}, {"query": "x"}, {"q": "y"}, schema=closed) is None
    listed = {"type": "object", "properties": {"format": {"enum": ["json", "csv"]}}}
    added = ({"q": "x"}, {"q": "x", "format": "csv"}, {"q": "y"})
    assert done(*added) is None
    assert done(*added, schema=listed) == {"q": "y", "format": "csv"}


def test_changes_inside_of_values_that_older_versions_stored_are_skipped() -> None:
    old = [ParamChange(kind=ParamChangeKind.WRITTEN, path=("of", "q"), how="as text")]
    assert done_again(old, {"of": {"q": 1}}) == {"of": {"q": 1}}


def test_what_is_changed_is_told_in_one_line_each() -> None:
    before = {"q": "x", "limit": "500", "lang": "en"}
    after = {"q": "x y", "limit": 500, "format": "csv"}
    assert set(in_words(before, after)) == {"q: x → x y", 'limit: "500" → 500', "- lang", "+ format: csv"}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
PARAMS = st.dictionaries(st.sampled_from(["query", "limit", "path", "*", "a"]), VALUES, max_size=4)


@given(failed=PARAMS, worked=PARAMS, new=PARAMS)
def test_the_same_changes_make_of_the_failed_call_the_one_that_worked(
    failed: dict[str, Any], worked: dict[str, Any], new: dict[str, Any]
) -> None:
    changes = changes_between(failed, worked)
    assert [ParamChange.model_validate(one.model_dump(mode="json")) for one in changes] == list(changes)
    assert json.dumps(done_again(changes, failed), sort_keys=True) == json.dumps(worked, sort_keys=True)
    before = json.dumps(new)
    found = carried_over(changes, FailedCall(tool="search", params=new, error="bad"))
    assert json.dumps(new) == before
    assert found is None or json.dumps(found) != before
