"""When a returned value is the expected one."""

import json
from typing import Any

import pytest
from sandbox_runs import run_call, run_calls

from desk_sandbox.code_tests import FailureReason
from desk_sandbox.values import MalformedValue, check_tree, matches, read_message

SAME: list[tuple[str, Any]] = [
    ("(1, 2)", [1, 2]),
    ("1.0", 1),
    ("1", 1.0),
    ("0.1 + 0.2", 0.3),
    ("{3, 1, 2}", [1, 2, 3]),
    ("{(1, 2), (0, 1)}", [[0, 1], [1, 2]]),
    ("{frozenset({5, 1}), frozenset({2})}", [[2], [1, 5]]),
    ("{(3, frozenset({9, 2})), 'a', None, True, 2.5}", ["a", [3, [2, 9]], 2.5, None, True]),
    ("set()", []),
    ("{1: 'a', (1, 2): None}", {"1": "a", "(1, 2)": None}),
    ("{'a': (1, {'b': {2}})}", {"a": [1, {"b": [2]}]}),
    ("__import__('collections').Counter('aab')", {"a": 2, "b": 1}),
    ("__import__('collections').namedtuple('P', 'x y')(1, 2)", [1, 2]),
    ("type('T', (int,), {'__index__': lambda s: 9, '__repr__': lambda s: '9'})(4)", 4),
    ("2**70", 2**70),
    ("None", None),
    ("'é\\x00'", "é\x00"),
]
OTHER: list[tuple[str, Any]] = [
    ("True", 1),
    ("1", True),
    ("0", False),
    ("None", 0),
    ("None", False),
    ("'1'", 1),
    ("[1, 2]", [2, 1]),
    ("[1]", [1, 1]),
    ("{1, 2}", [1, 1]),
    ("{'a': 1, 'b': 2}", {"a": 1}),
    ("{1: 'a', '1': 'a'}", {"1": "a"}),
    ("'ab'", ["a", "b"]),
    ("2**70 + 1", 2**70),
    ("10**5000", 1),
    ("iter([1])", [1]),
    ("b'a'", "a"),
    ("type('E', (), {'__eq__': lambda s, o: True, '__hash__': None})()", 1),
    ("type('E', (int,), {'__eq__': lambda s, o: True, '__hash__': None})(2)", 1),
    ("type('L', (list,), {'__len__': lambda s: 1, '__iter__': lambda s: iter([1])})()", [1]),
]


def test_values_that_are_the_same_pass() -> None:
    cases = [([number], expected) for number, (_, expected) in enumerate(SAME)]
    code = f"def f(i): return [{', '.join(f'lambda: {source}' for source, _ in SAME)}][i]()"
    report = run_calls(code, *cases)
    assert [SAME[int(failure.name.split()[1]) - 1] for failure in report.failures] == []


def test_values_that_differ_fail_with_the_actual_value() -> None:
    cases = [([number], expected) for number, (_, expected) in enumerate(OTHER)]
    code = f"def f(i): return [{', '.join(f'lambda: {source}' for source, _ in OTHER)}][i]()"
    report = run_calls(code, *cases)
    assert [OTHER[place] for place, result in enumerate(report.results) if result.passed] == []
    assert all(result.reason is FailureReason.WRONG_ANSWER and result.actual for result in report.results)


def test_a_value_that_json_has_no_form_for_is_named() -> None:
    result = run_call("def f(): return [object]")
    assert "not plain data" in result.error
    assert "class 'object'" in result.actual


def test_nan_is_nan() -> None:
    assert matches(float("nan"), float("nan"))
    assert not matches(float("nan"), 1.0)


def test_a_number_beyond_floats_is_no_error() -> None:
    assert not matches(10**400, 1.5)
    assert matches({"s": [10**400, 1]}, [1, 10**400])


@pytest.mark.parametrize(
    "tree", [[], [1], {}, {"l": 1}, {"x": 1}, {"y": []}, {"l": [], "d": []}, {"d": [1]}, {"d": [[1, 2]]}, {"l": [{}]}]
)
def test_a_tree_of_another_form_is_refused(tree: Any) -> None:
    with pytest.raises(MalformedValue):
        check_tree(tree)


def test_a_bottomless_message_is_refused() -> None:
    with pytest.raises(MalformedValue):
        read_message(b'{"value":' + b'{"l":[' * 100_000)
    deep: Any = 1
    for _ in range(500):
        deep = {"l": [deep]}
    with pytest.raises(MalformedValue):
        check_tree(json.loads(json.dumps(deep)))
