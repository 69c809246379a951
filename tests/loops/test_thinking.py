"""What a model thought is taken out of its answer, and nothing else is."""

import pytest

from reflection_app.loops.thinking import split_thinking


@pytest.mark.parametrize(
    ("text", "thought", "answer"),
    [
        ("<think>\nSix times\nseven.\n</think>\n\nForty-two.", "Six times\nseven.", "Forty-two."),
        ("Six times seven.\n</think>\n\nForty-two.", "Six times seven.", "Forty-two."),
        ("<think>a</think><think>b</think>c", "a\nb", "c"),
        ("Intro.\n<think>a</think>\nThe end.", "a", "Intro.\n\nThe end."),
        ("<think>It never ends", "It never ends", ""),
        ("It ends in a tag.\n</think>", "It ends in a tag.", ""),
        # The tags of other models, and as some write them.
        ("[THINK]a[/THINK]b", "a", "b"),
        ("<seed:think>a</seed:think>b", "a", "b"),
        ("◁think▷a◁/think▷b", "a", "b"),
        ("a.</THINK >\r\nb", "a.", "b"),
        ("<think>```python\nx = 1\n</think>\n```python\nx = 2\n```", "```python\nx = 1", "```python\nx = 2\n```"),
    ],
)
def test_reasoning_goes_before_the_answer(text: str, thought: str, answer: str) -> None:
    assert split_thinking(text) == (thought, answer)


@pytest.mark.parametrize(
    "text",
    [
        "An answer.",
        "Write `</think>` where the reasoning ends, and go on.",
        "The tags <think> and </think> stand around it.",
        'The parser looks for "</think>" and cuts there.',
        "```html\n</think>\n```\nThat is how it ends.",
        "First part.\n<think> is how a model begins to think.",
    ],
)
def test_a_tag_in_code_or_in_a_sentence_is_text(text: str) -> None:
    assert split_thinking(text) == ("", text)


def test_very_many_tags_are_read_in_time() -> None:
    text = "<think>a</think>\n" * 5_000 + "```\n" * 5_000
    thought, _answer = split_thinking(text)
    assert thought.startswith("a\na")
