import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflection_app.loops.json_schema import SchemaRefused, Violation, check_schema, json_path, violations
from tests.pace import within

PRODUCT = {
    "type": "object",
    "required": ["name", "items"],
    "additionalProperties": False,
    "properties": {
        "name": {"type": "string", "minLength": 2},
        "since": {"type": "string", "format": "date"},
        "items": {"type": "array", "items": {"$ref": "#/$defs/item"}},
    },
    "$defs": {"item": {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}}},
}


def found(schema: dict[str, Any], value: Any) -> list[tuple[str, str]]:
    check_schema(schema)
    return [(violation.path, violation.message) for violation in violations(schema, value)]


def test_a_value_that_fits_breaks_nothing() -> None:
    assert found(PRODUCT, {"name": "ab", "since": "2024-02-29", "items": [{"id": 1}]}) == []


def test_every_violation_is_told_with_its_path() -> None:
    value = {"name": "a", "since": "yesterday", "items": [{"id": 1}, {"id": "x"}, {}], "more": 1}
    told = found(PRODUCT, value)
    assert {path for path, _ in told} == {"$", "$.name", "$.since", "$.items[1].id", "$.items[2]"}
    assert ("$.items[1].id", 'the value is not of type "integer" (found "x")') in told
    assert ("$.items[2]", '"id" is a required property') in told
    assert len(told) == 5


def test_the_violations_of_the_alternative_that_was_meant_are_told() -> None:
    meant = {"type": "object", "required": ["k"]}
    schema = {"properties": {"a": {"anyOf": [{"$ref": "#/$defs/x"}, {"type": "null"}]}}, "$defs": {"x": meant}}
    assert found(schema, {"a": {}}) == [("$.a", '"k" is a required property')]
    assert "any of the schemas" in found(schema, {"a": 3})[0][1]


@pytest.mark.parametrize(
    ("parts", "path"),
    [
        ([], "$"),
        (["items", 2, "id"], "$.items[2].id"),
        (["a b", "it's", "数"], r"$['a b']['it\'s']['数']"),
        (["x" * 1000], "$." + "x" * 297 + "…"),
    ],
)
def test_paths_are_written_as_people_write_them(parts: list[str | int], path: str) -> None:
    assert json_path(parts) == path


DRAFT_07: dict[str, Any] = {"$schema": "http://json-schema.org/draft-07/schema#"}


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"type": "strin"}, r"\$\.type: "),
        ({"properties": {"a": {"minimum": "x"}}}, r"\$\.properties\.a\.minimum"),
        ({"$ref": "https://example.com/s.json"}, "refers outside of itself"),
        ({"items": {"$ref": "file:///etc/passwd"}}, r"\$\.items: refers outside"),
        ({"$ref": "https://json-schema.org/draft/2020-12/schema"}, "refers outside"),
        ({"$ref": "#/$defs/none"}, "which is not there"),
        (
            {"$schema": "http://json-schema.org/draft-03/schema#"},
            "unknown draft; known are 04, 06, 07, 2019-09 and 2020",
        ),
        ({"$schema": 7}, "unknown draft"),
        (DRAFT_07 | {"items": [{"$ref": "file:///etc/passwd"}]}, r"\$\.items\[0\]: refers outside"),
        (DRAFT_07 | {"dependencies": {"a": {"$ref": "other.json"}}}, "refers outside"),
        ({"$schema": "https://json-schema.org/draft/2019-09/schema", "$recursiveRef": "x"}, "refers outside"),
        (
            {"$schema": "http://json-schema.org/draft-04/schema#", "definitions": {"a": {"id": "http://x/y"}}},
            "an id inside",
        ),
        ({"$defs": {"a": {"$id": "https://example.com/a"}}}, "is not supported"),
        ({"pattern": "(?=a)b"}, "linear time"),
        ({"properties": {str(number): {} for number in range(5001)}}, "more than 5,000 parts"),
    ],
)
def test_a_schema_that_cannot_be_used_is_refused_with_the_reason(schema: dict[str, Any], why: str) -> None:
    with pytest.raises(SchemaRefused, match=why):
        check_schema(schema)


@pytest.mark.parametrize(
    "draft",
    [
        "http://json-schema.org/draft-04/schema#",
        "http://json-schema.org/draft-07/schema#",
        "https://json-schema.org/draft/2019-09/schema",
        "https://json-schema.org/draft/2020-12/schema",
    ],
)
def test_every_common_draft_is_read(draft: str) -> None:
    schema = {"$schema": draft, "type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    check_schema(schema)
    assert found(schema, {"a": "x"}) == [("$.a", 'the value is not of type "integer" (found "x")')]


def test_keywords_are_read_by_their_draft() -> None:
    tuples = DRAFT_07 | {"items": [{"type": "integer"}], "additionalItems": False}
    check_schema(tuples)
    assert [path for path, _why in found(tuples, ["x", 2])] == ["$[0]", "$"]
    needs = DRAFT_07 | {"dependencies": {"a": ["b"], "c": {"required": ["d"]}}}
    assert len(found(needs, {"a": 1, "c": 1})) == 2
    above = {"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 1, "exclusiveMinimum": True}
    assert len(found(above, 1)) == 1


def test_a_costly_schema_of_an_older_draft_is_refused_before_it_is_checked() -> None:
    entangled: Any = {}
    for _ in range(40):
        entangled = {"dependencies": {"a": entangled, "b": entangled}, "items": [entangled, entangled]}
    with pytest.raises(SchemaRefused):
        check_schema(DRAFT_07 | entangled)


def test_words_that_only_look_like_references_are_let_be() -> None:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://example.com/mine",
        "properties": {"$ref": {"type": "string"}, "$id": {"const": {"$ref": "http://x"}}},
    }
    assert found(schema, {"$ref": 1}) == [("$['$ref']", 'the value is not of type "string" (found 1)')]


def test_references_within_the_schema_are_followed() -> None:
    tree = {"$anchor": "tree", "type": "object", "properties": {"kids": {"items": {"$ref": "#tree"}}}}
    assert found(tree, {"kids": [{}, {"kids": [3]}]})[0][0] == "$.kids[1].kids[0]"
    assert found({"$defs": {"a/b": {"type": "null"}}, "$ref": "#/$defs/a~1b"}, 1)[0][0] == "$"
    assert found({"allOf": [{"$ref": "#"}]}, 1) == []


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


FORKING = {
    "$ref": "#/$defs/n",
    "$defs": {
        "n": {
            "anyOf": [
                {"type": "array", "items": {"$ref": "#/$defs/n"}},
                {"type": "array", "items": {"$ref": "#/$defs/n"}, "minItems": 1},
            ]
        }
    },
}


@pytest.mark.parametrize("levels", [16, 60, 99, 500])
def test_alternatives_that_lead_back_to_themselves_take_no_exponential_time(levels: int) -> None:
    with within(paces=200):
        assert [path for path, _ in found(FORKING, nested(levels))] == ["$"]


def test_a_schema_that_doubles_at_every_step_is_refused() -> None:
    parts: dict[str, Any] = {f"a{step}": {"allOf": [{"$ref": f"#/$defs/a{step + 1}"}] * 2} for step in range(40)}
    with pytest.raises(SchemaRefused, match="too entangled"):
        check_schema({"$defs": parts | {"a40": {"type": "string"}}, "$ref": "#/$defs/a0"})


def test_thousands_of_conditions_on_a_long_answer_are_not_tried() -> None:
    schema = {"allOf": [{"const": number} for number in range(3000)]}
    check_schema(schema)
    assert "too large" in violations(schema, ["x" * 10] * 8000)[0].message


def test_a_long_list_of_wrong_items_is_told_whole() -> None:
    assert len(violations({"items": {"type": "string"}}, list(range(5000)))) == 5000


def test_a_hostile_pattern_takes_linear_time() -> None:
    with within(paces=200):
        assert len(found({"pattern": "(a+)+$"}, "a" * 50_000 + "b")) == 1


SCHEMAS = st.recursive(
    st.sampled_from([{}, {"type": "string"}, {"type": "integer", "minimum": 3}, {"enum": [1, "a", None]}]),
    lambda inner: st.one_of(
        st.builds(lambda one: {"items": one}, inner),
        st.builds(lambda one, two: {"anyOf": [one, two]}, inner, inner),
        st.builds(lambda one: {"properties": {"a": one}, "required": ["a"]}, inner),
        st.builds(lambda one: {"not": one}, inner),
    ),
    max_leaves=5,
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3) | st.just("a"), inner, max_size=3),
    max_leaves=8,
)


@given(SCHEMAS, VALUES)
def test_whatever_is_checked_either_fits_or_is_told_with_a_path(schema: dict[str, Any], value: Any) -> None:
    for violation in violations(schema, value):
        assert isinstance(violation, Violation)
        assert violation.path.startswith("$")
        assert violation.message
    json.dumps([violation.model_dump() for violation in violations(schema, value)])


@pytest.mark.parametrize(
    ("items", "value"),
    [
        # Each complaint carries all that would have been allowed.
        ({"enum": list(range(30_000))}, [-1] * 1_000),
        ({"const": "x" * 150_000}, [0] * 1_000),
        # One complaint for each of the names.
        ({"dependentRequired": {"a": [f"n{number}" for number in range(15_000)]}}, [{"a": 1}] * 1_000),
        # Nothing to complain of, but each is looked at.
        ({"allOf": [True] * 30_000}, list(range(60_000))),
        ({"patternProperties": {f"^{number}$": {} for number in range(200)}}, [dict.fromkeys("abcdefgh", 1)] * 5_000),
    ],
    ids=["enum", "const", "dependent", "nothing", "patterns"],
)
def test_a_small_schema_that_makes_much_of_a_value_is_told_as_too_costly(items: dict[str, Any], value: Any) -> None:
    schema = {"items": items}
    check_schema(schema)
    with within(paces=500):
        assert "too large" in violations(schema, value)[0].message


def test_what_many_parts_refer_to_in_common_is_added_up_once() -> None:
    refers = {f"p{number}": {"$ref": "#/$defs/all"} for number in range(2_400)}
    schema = {"$defs": {"all": {"allOf": [{}] * 2_400}}, "properties": refers}
    with within(paces=100):
        check_schema(schema)


@pytest.mark.exhaustive("the largest of everything, for the bounds")
def test_a_long_key_above_many_parts_takes_no_memory_for_each() -> None:
    schema: dict[str, Any] = {
        "properties": {"k" * 100_000: {"properties": {f"{number:x}": {} for number in range(4_900)}}}
    }
    tracemalloc.start()
    try:
        check_schema(schema)
        assert tracemalloc.get_traced_memory()[1] < 50_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("pattern", ["[^/]{5000}", "(.{100}){100}"])
def test_a_pattern_that_takes_megabytes_is_refused(pattern: str) -> None:
    with pytest.raises(SchemaRefused, match="little memory"):
        check_schema({"pattern": pattern})
    check_schema({"pattern": "^[^/]{1,255}$"})


def test_very_many_patterns_are_refused() -> None:
    with pytest.raises(SchemaRefused, match="200 patterns"):
        check_schema({"allOf": [{"pattern": "a"}] * 100, "patternProperties": {f"^{n}$": {} for n in range(101)}})
