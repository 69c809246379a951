from typing import Any

import pytest

from reflection_app.loops.referee.answers import allows, return_annotation


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        ("int", 3),
        ("int", 3.0),
        ("float", 3),
        ("Optional[float]", None),
        ("int | None", None),
        ("Union[int, str]", "x"),
        ("List[List[str]]", [["a"], []]),
        ("typing.Dict[str, int]", {"a": 1}),
        ("Tuple[int, ...]", (1, 2, 3)),
        ("'List[int]'", [1]),
        ("list", ["a", 1]),
        ("Any", object()),
        ("np.ndarray", [1]),
        ("", 3),
        ("List[", 3),
    ],
)
def test_values_that_fit_or_cannot_be_judged_are_let_through(annotation: str, value: Any) -> None:
    assert allows(annotation, value)


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        ("int", "3"),
        ("int", 3.5),
        ("int", None),
        ("bool", 1),
        ("List[List[str]]", [[["a"]]]),
        ("Tuple[int, int]", (1, 2, 3)),
        ("Dict[str, int]", {"a": "b"}),
        ("Optional[int]", "x"),
        ("Set[int]", [1]),
    ],
)
def test_values_that_break_the_signature_are_not(annotation: str, value: Any) -> None:
    assert not allows(annotation, value)


@pytest.mark.parametrize(
    ("task", "annotation"),
    [
        ("def f(n: int) -> int:\n    '''x'''", "int"),
        ("Write it.\n\n    def f(a: Dict[str, int] = {1: 2},\n          b=':') -> List[int]:\n", "List[int]"),
        ("async def f() -> str: ...", "str"),
        ("def f(n):\n    return n", ""),
        ("def other(n) -> int:\n", ""),
        ("Write f, which doubles.", ""),
        ("def f(n -> int:", ""),
    ],
)
def test_the_annotation_is_read_from_the_tasks_text(task: str, annotation: str) -> None:
    assert return_annotation(task, entry_point="f") == annotation
