"""Data loop: write data, check it against a JSON Schema, and rewrite it with each violation and path shown."""

import json

from reflection_app.loops.attempts import confirm, end_by, make_attempt, within
from reflection_app.loops.code_answers import NoData, data_of
from reflection_app.loops.code_loop import sent_back
from reflection_app.loops.json_schema import violations
from reflection_app.loops.progress import Progress
from reflection_app.loops.prompts import prompt
from reflection_app.loops.task_spec import TaskSpec
from reflection_app.loops.tool_calls import format_issue
from reflection_app.loops.values import NO_ANSWER, Message, assistant, system, user
from reflection_app.loops.verdicts import Judgement, Outcome, Referee, Verdict

MOST_VIOLATIONS = 50


async def data_loop(spec: TaskSpec, run: Progress) -> Outcome:
    """Make attempts until one fits the schema or a limit is reached. Every complete answer is checked."""
    assert spec.output_schema is not None
    schema = json.dumps(spec.output_schema, ensure_ascii=False)
    task = (system(prompt("data_system")), user(prompt("data_task", objective=spec.objective, schema=schema)))
    turns: list[Message] = []
    for number in range(1, spec.limits.max_iterations + 1):
        messages = within(run.tokens_left, task=task, turns=turns)
        answer = await make_attempt(spec, run, number=number, messages=messages)
        if number in run.unfinished:
            turns += [assistant(answer), user(prompt("cut_off_next"))]
            continue
        judgement = await run.record(judge_data(spec, answer, attempt=number), key=f"attempt-{number}/verdict")
        judgement = await confirm(spec, run, judgement)
        if (end := end_by(judgement, run)) is not None:
            return end
        if judgement.referee is Referee.PERSON:
            turns += [assistant(answer or NO_ANSWER), user(sent_back(judgement, name="data_sent_back"))]
            continue
        listed = "\n".join(
            f"- {issue.path}: {issue.in_words}" if issue.path else f"- {issue.in_words}" for issue in judgement.issues
        )
        turns += [assistant(answer or NO_ANSWER), user(prompt("data_again", violations=listed))]
    return Outcome.EXHAUSTED


def judge_data(spec: TaskSpec, answer: str, *, attempt: int) -> Judgement:
    """Return PASS if the answer holds data that fits the schema, else REVISE with the violations.

    The score is 100 / (1 + n) for n violations, so each one removed gains more than the previous one. An answer without
    data scores 0. At most MOST_VIOLATIONS are listed.
    """
    assert spec.output_schema is not None
    try:
        found = violations(spec.output_schema, data_of(answer, chain_of_thought=spec.chain_of_thought))
    except NoData as error:
        issues, score = [format_issue(str(error), path="$")], 0.0
    else:
        score = round(100 / (1 + len(found)), 2)
        issues = [format_issue(violation.message, path=violation.path) for violation in found[:MOST_VIOLATIONS]]
        if len(found) > MOST_VIOLATIONS:
            issues.append(format_issue(f"and {len(found) - MOST_VIOLATIONS:,} more", path=""))
    return Judgement(
        attempt=attempt,
        referee=Referee.TOOL,
        verdict=Verdict.REVISE if issues else Verdict.PASS,
        score=score,
        confidence=1.0,
        issues=tuple(issues),
    )
