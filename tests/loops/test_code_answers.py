import pytest

from reflection_app.loops.code_answers import code_of


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ("```python\nx = 1\n```", "x = 1"),
        ("```\nx = 1\n```", "x = 1"),
        ("~~~py\nx = 1\n~~~", "x = 1"),
        ("x = 1", "x = 1"),
        ("Text\n```python\nx = 1", "x = 1"),
        ("```bash\nls\n```\n```python\nlong_name = 1\n```", "long_name = 1"),
    ],
)
def test_code_is_found_however_it_is_wrapped(answer: str, code: str) -> None:
    assert code_of(answer) == code


def test_the_last_block_that_defines_the_entry_point_wins() -> None:
    blocks = ["def f(): return 1", "def f(): return 2", "print(f(), 1, 2, 3)"]
    answer = "\nThen:\n".join(f"```python\n{block}\n```" for block in blocks)
    assert code_of(answer, entry_point="f") == "def f(): return 2"


def test_a_block_that_does_not_parse_can_still_be_the_one() -> None:
    answer = "```python\nimport os\n```\n```python\ndef f(:\n    pass\n```"
    assert code_of(answer, entry_point="f").startswith("def f(:")


def test_a_fence_inside_a_string_does_not_end_the_block() -> None:
    answer = "````python\nx = '''\n```\n'''\n````"
    assert code_of(answer) == "x = '''\n```\n'''"
