"""Making a plan: asked for, checked by code, and put right with what was wrong with it in view."""

import json

from reflection_app.loops.attempt_effects import Generate
from reflection_app.loops.effect import EffectFailed
from reflection_app.loops.messages import Message, assistant, system, user
from reflection_app.loops.plan_effects import RecordPlan
from reflection_app.loops.plan_work import Work
from reflection_app.loops.plans import MOST_STEPS, PLAN_SCHEMA, CheckedPlan, Plan, PlanIssue, check_plan
from reflection_app.loops.progress import Progress
from reflection_app.loops.prompts import prompt
from reflection_app.loops.recalling import task_with_lessons
from reflection_app.loops.structured_answers import ask
from reflection_app.loops.task_spec import TaskSpec
from reflection_app.loops.tool_tries import describe, task_of

MOST_REVISIONS = 2
TEMPERATURE = 0.3
# Lessons are told where the first plan is made and where its answer is written.
PROMPTS_TOLD = 2
MOST_ISSUES_SHOWN = 20


async def make_plan(spec: TaskSpec, run: Progress, work: Work, *, number: int, part: str = "") -> Plan:
    """A plan that can be carried out; every version is recorded with its issues, under `part` of the attempt's keys.

    Raises EffectFailed where it still cannot after `MOST_REVISIONS` revisions.
    """
    is_first = number == 1 and not part
    goal = task_of(spec)
    if is_first:
        goal = await task_with_lessons(spec, run, task=goal, prompts=PROMPTS_TOLD)
    first = first_messages(spec, work, goal=goal)
    base = f"attempt-{number}{part}/plan"
    messages, key = first, f"{base}/make"
    for revision in range(MOST_REVISIONS + 1):
        plan = await _ask(run, key=key, messages=messages)
        record = RecordPlan(key=f"{base}/checked-{revision + 1}", plan=_checked(plan, spec, work))
        # Checked again, because a person may have edited the recorded plan in a fork.
        checked = _checked((await run.perform(record)).plan, spec, work)
        if not checked.issues:
            return checked.plan
        # Only the newest plan is shown again: an earlier one has nothing to teach that its successor has not.
        messages = (*first, assistant(_json(checked)), user(prompt("plan_revise", issues=told_issues(checked.issues))))
        key = f"{base}/revise-{revision + 1}"
    faults = " ".join(issue.description for issue in checked.issues[:MOST_ISSUES_SHOWN])
    raise EffectFailed(f"The plan still could not be carried out after {MOST_REVISIONS} revisions. {faults}")


def _checked(plan: Plan, spec: TaskSpec, work: Work) -> CheckedPlan:
    return check_plan(plan, tools=[tool.name for tool in spec.tools], done=work.done.keys())


async def _ask(run: Progress, *, key: str, messages: tuple[Message, ...]) -> Plan:
    run.check_limits()
    request = Generate(
        key=key,
        role="planner",
        messages=messages,
        temperature=TEMPERATURE,
        max_tokens=run.tokens_left,
        timeout_s=run.time_left_s(),
        json_schema=PLAN_SCHEMA,
    )
    return await ask(run, request, schema=Plan, judges=False)


def first_messages(spec: TaskSpec, work: Work, *, goal: str) -> tuple[Message, ...]:
    """What the planner is asked: the goal, the tools and, after a plan that was not all done, what came of it."""
    asked = prompt("plan_make", goal=goal, tools=describe(spec.tools), so_far=work.so_far(), most=MOST_STEPS)
    return (system(prompt("plan_system")), user(asked))


def told_issues(issues: tuple[PlanIssue, ...]) -> str:
    lines = [f"- {issue.description}" for issue in issues[:MOST_ISSUES_SHOWN]]
    left_out = len(issues) - MOST_ISSUES_SHOWN
    return "\n".join([*lines, f"- … and {left_out} more."] if left_out > 0 else lines)


def _json(checked: CheckedPlan) -> str:
    return json.dumps(checked.plan.model_dump(mode="json"), ensure_ascii=False)
