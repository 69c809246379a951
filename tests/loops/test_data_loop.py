from typing import Any

import pytest

from reflection_app.loops.attempt_effects import Generate, RecordVerdict
from reflection_app.loops.code_answers import NoData, code_of, value_in
from reflection_app.loops.data_loop import MOST_VIOLATIONS
from reflection_app.loops.task_spec import Limits, Mode, TaskSpec
from reflection_app.loops.verdicts import IssueCategory, Judgement, Outcome, Referee, Verdict
from tests.loops.playing import play, said, sequence

SCHEMA = {
    "type": "object",
    "required": ["items"],
    "properties": {"items": {"type": "array", "items": {"type": "integer"}}},
}


def spec(schema: dict[str, Any] | None = None, *, chain_of_thought: bool = False, **limits: Any) -> TaskSpec:
    return TaskSpec(
        objective="list the primes below 6",
        mode=Mode.EXTERNAL_LOOP,
        output_schema=SCHEMA if schema is None else schema,
        chain_of_thought=chain_of_thought,
        limits=Limits(**limits),
    )


def judgements(spec: TaskSpec, *answers: str) -> list[Judgement]:
    played = play(spec, sequence([said(answer) for answer in answers]))
    return [effect.judgement for effect in played.of(RecordVerdict)]


def test_data_that_fits_ends_the_loop_as_succeeded() -> None:
    played = play(spec(), sequence([said('Here it is:\n```json\n{"items": [2, 3, 5]}\n```')]))
    assert played.ended.outcome is Outcome.SUCCEEDED
    assert played.keys == ["attempt-1/answer", "attempt-1/verdict"]


def test_every_violation_is_in_the_next_prompt_with_its_path() -> None:
    played = play(spec(), sequence([said('{"items": [2, "3", 5, null]}'), said('{"items": []}')]))

    first, second = (effect for effect in played.of(Generate))
    assert '"required": ["items"]' in first.messages[1].content
    assert [message.role for message in second.messages] == ["system", "user", "assistant", "user"]
    told = second.messages[-1].content
    assert '- $.items[1]: the value is not of type "integer" (found "3")' in told
    assert "- $.items[3]: " in told
    assert played.ended.best_attempt == 2


def test_violations_are_issues_of_the_form_judged_by_a_tool() -> None:
    (judged,) = judgements(spec(max_iterations=1), '{"items": ["x"]}')
    assert (judged.referee, judged.verdict, judged.score) == (Referee.TOOL, Verdict.REVISE, 50)
    assert [(issue.category, issue.path) for issue in judged.issues] == [(IssueCategory.FORMAT, "$.items[0]")]


def test_each_violation_less_scores_higher_and_no_data_is_nothing() -> None:
    answers = ["no data", '{"items": ["a", "b", "c"]}', '{"items": ["a"]}', '{"items": [1]}']
    scores = [judged.score for judged in judgements(spec(max_iterations=4), *answers)]
    assert scores == [0, 25, 50, 100]


def test_of_very_many_violations_the_first_are_told_and_the_rest_counted() -> None:
    (judged,) = judgements(spec(max_iterations=1), f'{{"items": {["x"] * 2000}}}'.replace("'", '"'))
    assert len(judged.issues) == MOST_VIOLATIONS + 1
    assert judged.issues[-1].description == "and 1,950 more"


@pytest.mark.parametrize(
    ("schema", "answer"),
    [({"type": "array"}, "[1, 2]"), ({"type": "integer"}, " 42\n"), ({"type": "string"}, '```\n"x"\n```')],
)
def test_the_answer_may_be_a_list_or_a_single_value(schema: dict[str, Any], answer: str) -> None:
    assert judgements(spec(schema), answer)[0].passed


def test_in_a_chain_of_thought_the_data_is_in_the_part_that_holds_the_work() -> None:
    answer = '## Plan\n[2, 3]\n## Execute\n```json\n{"items": [2, 3, 5]}\n```\n## Verify\nThere are [3] of them.'
    assert judgements(spec(chain_of_thought=True), answer)[0].passed
    bare = '## Plan\nto do it\n{"items": []}'
    assert judgements(spec(chain_of_thought=True), bare)[0].passed


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        ("null", None),
        ('```json\n{"a": 1}\n```\nthat is\n```json\n{"a": 1}\n```', {"a": 1}),
        ("```python\nprint()\n```\n```json\n[1]\n```", [1]),
        ("~~~JSON\n[true]", [True]),
        ('{"a": "\\u0000"}', {"a": "\N{REPLACEMENT CHARACTER}"}),
    ],
)
def test_the_one_value_in_an_answer_is_found(answer: str, value: Any) -> None:
    assert value_in(answer) == value


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("", "no JSON"),
        ('{"a": 1,}', "line 1, column"),
        ("```json\n{'a': 1}\n```", "not JSON"),
        ('{"a": 1} or {"a": 2}', "several different"),
        ('{"a": 1, "a": 2}', "stands twice"),
        ("NaN", "no number in JSON"),
        ("[" * 100_000, "nested too deeply|not JSON"),
        ("1" * 5_000, "too long"),
        ("x" * 200_001, "longer than"),
    ],
)
def test_what_is_not_one_json_value_is_refused_with_the_reason(answer: str, why: str) -> None:
    with pytest.raises(NoData, match=why):
        value_in(answer)


@pytest.mark.parametrize("answer", ["so " + "[" * 3_000 + "]" * 3_000, '{"a":' * 5_000 + "1" + "}" * 5_000])
def test_what_is_nested_too_deeply_is_refused_and_no_part_of_it_taken_instead(answer: str) -> None:
    with pytest.raises(NoData, match="nested too deeply"):
        value_in(answer)


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ("```python\nx = 1\n```", "x = 1"),
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
