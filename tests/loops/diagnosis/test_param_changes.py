"""What one call's fix says about another call of the same tool: told by form, and done where it fits."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflection_app.loops.diagnosis.diagnoses import FailedCall, ParamChange, ParamChangeKind
from reflection_app.loops.diagnosis.param_changes import carried_over, changes_between, in_words
from reflection_app.loops.tool_calls import ToolSpec
from tests.pace import within


def done_again(
    failed: dict[str, Any],
    worked: dict[str, Any],
    new: dict[str, Any],
    *,
    error: str = "Bad request",
    tool: str = "search_all",
    schema: dict[str, Any] | None = None,
) -> dict[str, Any] | None:
    tools = (ToolSpec(name=tool, parameters=schema),) if schema else ()
    call = FailedCall(tool=tool, params=new, error=error, tools=tools)
    return carried_over(changes_between(failed, worked), call)


@pytest.mark.parametrize(
    ("failed", "worked", "new", "expected"),
    [
        ({"limit": 900, "q": "x"}, {"limit": 100, "q": "x"}, {"limit": 500, "q": "y"}, {"limit": 100, "q": "y"}),
        ({"days": 0}, {"days": 1}, {"days": -4}, {"days": 1}),
        ({"q": "x"}, {"query": "x"}, {"q": "y z"}, {"query": "y z"}),
        ({"q": "x", "n": 3}, {"filter": {"q": "x"}, "n": 3}, {"q": "z", "n": 4}, {"filter": {"q": "z"}, "n": 4}),
        ({"q": "x", "lang": "en"}, {"q": "x"}, {"q": "y", "lang": "de"}, {"q": "y"}),
        ({"q": "x"}, {"q": "x", "format": "json"}, {"q": "y"}, {"q": "y", "format": "json"}),
        ({"query": "a | b"}, {"query": "a OR b"}, {"query": "x|y|z"}, {"query": "x OR y OR z"}),
        ({"query": "red wine"}, {"query": "red"}, {"query": "old oak trees"}, {"query": "old oak"}),
        ({"day": "03/31/2026"}, {"day": "2026-03-31"}, {"day": "04/05/2026"}, {"day": "2026-04-05"}),
        ({"day": "2026年3月9日"}, {"day": "2026-03-09"}, {"day": "2026年12月1日"}, {"day": "2026-12-01"}),
        ({"path": "src/a.py"}, {"path": "/repo/src/a.py"}, {"path": "docs/b.md"}, {"path": "/repo/docs/b.md"}),
        ({"url": "http://a.org/x"}, {"url": "https://a.org/x"}, {"url": "http://b.org"}, {"url": "https://b.org"}),
        ({"tags": "a"}, {"tags": ["a"]}, {"tags": "b"}, {"tags": ["b"]}),
        ({"tags": "a, b"}, {"tags": ["a", "b"]}, {"tags": "c,d"}, {"tags": ["c", "d"]}),
        ({"n": "5"}, {"n": 5}, {"n": "7"}, {"n": 7}),
        ({"state": "Open"}, {"state": "open"}, {"state": "Closed"}, {"state": "closed"}),
        (
            {"of": {"q": "x", "page": {"size": 900}}},
            {"of": {"q": "x", "page": {"size": 100}}},
            {"of": {"q": "z", "page": {"size": 300}}},
            {"of": {"q": "z", "page": {"size": 100}}},
        ),
        (
            {"rows": [{"day": "31.12.2026"}, {"day": "30.12.2026"}]},
            {"rows": [{"day": "2026-12-31"}, {"day": "2026-12-30"}]},
            {"rows": [{"day": "01.02.2026"}]},
            {"rows": [{"day": "2026-02-01"}]},
        ),
        ({"ids": [1, 2, 3, 4]}, {"ids": [1, 2]}, {"ids": [7, 8, 9]}, {"ids": [7, 8]}),
        (
            {"city": "Rome", "days": 1},
            {"city": "Roma", "days": 1},
            {"city": "Rome", "days": 3},
            {"city": "Roma", "days": 3},
        ),
    ],
)
def test_what_changed_by_its_form_is_changed_in_the_next_call(
    failed: dict[str, Any], worked: dict[str, Any], new: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert done_again(failed, worked, new) == expected


@pytest.mark.parametrize(
    ("failed", "worked", "new"),
    [
        ({"limit": 900}, {"limit": 100}, {"limit": 50}),
        ({"limit": 900}, {"limit": 100}, {"size": 500}),
        ({"city": "Rome"}, {"city": "Roma"}, {"city": "Paris"}),
        ({"query": "agents"}, {"query": "llm agents"}, {"query": "trees"}),
        ({"day": "05/05/2026"}, {"day": "2026-05-05"}, {"day": "04/05/2026"}),
        ({"id": "a-1"}, {"id": "b-7"}, {"id": "c-9"}),
        ({"a": 1}, {"a": 1}, {"a": 2}),
        ({"timeout": 30}, {"timeout": 30_000}, {"timeout": 45}),
        ({"days": 3}, {"days": 3, "city": "Rome"}, {"days": 5}),
        ({"name": "Ann Lee"}, {"first": "Ann", "last": "Lee"}, {"name": "Bob Ray"}),
    ],
)
def test_what_another_call_wants_is_not_guessed(
    failed: dict[str, Any], worked: dict[str, Any], new: dict[str, Any]
) -> None:
    assert done_again(failed, worked, new) is None


def test_a_bound_that_the_error_or_the_schema_names_now_goes_before_the_one_of_then() -> None:
    once = ({"limit": 900}, {"limit": 100}, {"limit": 500})
    assert done_again(*once, error="limit must be at most 50") == {"limit": 50}
    schema = {"type": "object", "properties": {"limit": {"type": "integer", "maximum": 80}}}
    assert done_again(*once, schema=schema) == {"limit": 80}


def test_what_the_schema_refuses_is_not_given() -> None:
    schema = {"type": "object", "additionalProperties": False, "properties": {"q": {"type": "string"}}}
    assert done_again({"q": "x"}, {"query": "x"}, {"q": "y"}, schema=schema) is None
    assert done_again({"q": 1, "r": 2}, {"q": "1", "r": 2}, {"q": 3}, schema=schema) == {"q": "3"}


def test_of_a_fix_that_changed_more_than_its_forms_only_what_the_error_names_is_done() -> None:
    failed, worked = {"limit": 900, "blob": [{"a": 1}]}, {"limit": 100, "blob": [{"b": 2}]}
    assert ParamChangeKind.OTHER in {change.kind for change in changes_between(failed, worked)}
    new = {"limit": 500, "blob": [{"c": 3}]}
    assert done_again(failed, worked, new) is None
    assert done_again(failed, worked, new, error="limit is too high") == new | {"limit": 100}


@pytest.mark.parametrize(
    ("failed", "worked", "new"),
    [
        ({"amount": 900}, {"amount": 100}, {"amount": 500}),
        ({"to": "ann"}, {"to": "bob"}, {"to": "ann"}),
        ({"name": "x"}, {"name": "x", "force": True}, {"name": "y"}),
        ({"name": "x", "verbose": True}, {"name": "x", "confirm": True}, {"name": "y", "verbose": True}),
        ({"name": "x", "where": "a=1"}, {"name": "x"}, {"name": "y", "where": "b=2"}),
        ({"to": ["a", "b", "c"]}, {"to": ["a"]}, {"to": ["x", "y"]}),
    ],
)
def test_a_tool_that_changes_something_is_called_with_no_other_amounts_names_or_guards(
    failed: dict[str, Any], worked: dict[str, Any], new: dict[str, Any]
) -> None:
    assert done_again(failed, worked, new, tool="transfer_rows") is None


def test_a_form_is_mended_for_a_tool_that_changes_something_too() -> None:
    failed, worked = {"start": "2026-01-01 10:00:00"}, {"start": "2026-01-01T10:00:00Z"}
    new = {"start": "2026-02-01 11:30:00"}
    assert done_again(failed, worked, new, tool="create_event") == {"start": "2026-02-01T11:30:00Z"}
    long, cut = {"title": "A title " * 30}, {"title": ("A title " * 30)[:100]}
    other = {"title": "B" * 200}
    assert done_again(long, cut, other, tool="create_issue", error="title is too long") == {"title": "B" * 100}
    assert done_again(long, cut, other, tool="create_issue") is None
    days = {"days": 400}, {"days": 90}, {"days": 200}
    assert done_again(*days, tool="create_report", error="days: that is too long ago") == {"days": 90}
    bound = {"amount": 900}, {"amount": 100}, {"amount": 500}
    assert done_again(*bound, tool="transfer", error="amount may be 100 at a time") == {"amount": 100}


def test_what_is_changed_is_told_in_one_line_each() -> None:
    before = {"q": "x", "limit": "500", "lang": "en", "day": "31.12.2026"}
    after = {"query": "x", "limit": 500, "day": "2026-12-31", "format": "csv"}
    told = {"q → query", 'limit: "500" → 500', "- lang", "+ format: csv", "day: 31.12.2026 → 2026-12-31"}
    assert set(in_words(before, after)) == told


TEXTS = st.text(alphabet='ab1 |,:/.-_*"(年2026é', max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
PARAMS = st.dictionaries(TEXTS | st.sampled_from(["query", "limit", "path", "*"]), VALUES, max_size=4)


@given(failed=PARAMS, worked=PARAMS, new=PARAMS, tool=st.sampled_from(["search", "delete_rows", "x"]))
def test_whatever_calls_there_were_the_next_one_is_changed_or_left_alone(
    failed: dict[str, Any], worked: dict[str, Any], new: dict[str, Any], tool: str
) -> None:
    before = json.dumps(new)
    changes = changes_between(failed, worked)
    assert [ParamChange.model_validate(one.model_dump(mode="json")) for one in changes] == list(changes)
    found = carried_over(changes, FailedCall(tool=tool, params=new, error="limit: bad"))
    assert json.dumps(new) == before
    assert found is None or (found != new or json.dumps(found) != before)
    assert all(isinstance(line, str) for line in in_words(failed, worked))


def test_a_sign_is_found_in_a_long_value_too() -> None:
    names = [f"word{number}" for number in range(400)]
    (change,) = changes_between({"q": " AND ".join(names)}, {"q": " && ".join(names)})
    assert (change.kind, change.how) == (ParamChangeKind.WRITTEN, "sign")
    assert (change.before, change.after) == ("AND", "&&")


SIGNS = "- " * 300


@pytest.mark.parametrize(
    ("failed", "worked"),
    [
        ({"q": SIGNS * 2}, {"q": "-" * 600}),
        ({f"a{number}": SIGNS[number:] for number in range(40)}, {f"a{number}": "-" * 300 for number in range(40)}),
        ({f"a{number}": SIGNS[number:] for number in range(40)}, {f"b{number}": "-" * 300 for number in range(40)}),
        ({"q": [SIGNS[number:] for number in range(40)]}, {"q": ["-" * 300 for _ in range(40)]}),
        ({f"a{number}": number for number in range(6_000)}, {f"b{number}": number for number in range(6_000)}),
    ],
    ids=["value", "values", "moved", "items", "names"],
)
def test_calls_of_many_signs_are_compared_as_fast_as_others(failed: dict[str, Any], worked: dict[str, Any]) -> None:
    with within(paces=400):
        changes_between(failed, worked)
