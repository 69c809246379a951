"""Whatever models, tests, tools, agents and people answer, any loop ends within its limits and can be replayed."""

import json
from decimal import Decimal
from typing import Any

from hypothesis import event, given, settings
from hypothesis import strategies as st

from desk_sandbox.code_tests import FailureReason, TestReport, TestResult
from reflection_app.loops.attempt_effects import (
    AnswerFault,
    AskPerson,
    AskReviewer,
    AwaitAttempt,
    CallTool,
    Draw,
    Drawn,
    Generate,
    Generation,
    HandedIn,
    HandedInRepair,
    KeepAttempt,
    RecordVerdict,
    RunTests,
)
from reflection_app.loops.catalogue import LOOPS
from reflection_app.loops.completeness.checks import CompletenessSettings
from reflection_app.loops.diagnosis.diagnoses import FailedCall
from reflection_app.loops.effect import EffectFailed, EffectTimedOut, Performed, Spent
from reflection_app.loops.effects import (
    AnyEffect,
    AwaitTurns,
    FindSimilarIssues,
    RecordCompleteness,
    RecordPlanStep,
    RecordReflection,
    RecordSupplements,
    RecordToolFailure,
    Turn,
    Turns,
)
from reflection_app.loops.plans import PlanStepState
from reflection_app.loops.protocol.error_classes import SimilarIssue, SimilarIssues
from reflection_app.loops.protocol.stages import RepairStatus
from reflection_app.loops.questions import PersonsAnswer
from reflection_app.loops.requirements import CountRequirement, Requirements
from reflection_app.loops.task_spec import Execution, Limits, Mode, Redo, ReviewPolicy, TaskKind, TaskSpec
from reflection_app.loops.tool_calls import ToolCall, ToolFailure, ToolResult, ToolSpec
from reflection_app.loops.verdicts import Ended, IssueCategory, Outcome, Referee, Verdict
from tests.loops.playing import TESTS, decided, noted, play, said
from tests.runs.critiques import critique

MOST_CALLS = 300
READ = ToolSpec(name="read", parameters={"type": "object", "required": ["path"]})
SUM = ToolSpec(name="sum", parameters={"type": "object", "properties": {"n": {"type": "integer"}}})
REQUIREMENTS = Requirements(required_fields=("city",), counts=(CountRequirement(path="n", min=1),))
SCHEMA = {"type": "object", "required": ["city"], "properties": {"n": {"type": "integer"}}}
ASSERTS = "```python\n" + "\n".join(f"assert f({n}) == {n + 1}" for n in range(4)) + "\n```"

calls = st.builds(
    lambda tool, arguments: json.dumps({"tool": tool, "arguments": arguments}),
    st.sampled_from(["read", "sum", "none"]),
    st.dictionaries(st.sampled_from(["path", "n"]), st.integers(0, 2) | st.text(max_size=2)),
)
plans = st.lists(
    st.fixed_dictionaries(
        {
            "id": st.sampled_from("abc"),
            "description": st.just("do"),
            "tool": st.sampled_from(["read", "sum", "none", None]),
            "requires": st.lists(st.sampled_from("abc"), max_size=2),
        }
    ),
    max_size=3,
).map(lambda steps: json.dumps({"steps": steps}))
critiques = st.builds(critique, st.floats(0, 100), approved=st.booleans(), confidence=st.floats(0, 1))
opinions = st.builds(
    lambda ok, sure: json.dumps({"is_satisfactory": ok, "issues": ["x"], "confidence": sure}),
    st.booleans(),
    st.floats(0, 1),
)
kinds = st.sampled_from([*TaskKind, "?"]).map(lambda kind: json.dumps({"task_kind": kind}))
reflections = st.builds(
    lambda issue: json.dumps({"surface_issue": issue, "root_cause": "haste", "questions": ["which?"]}),
    st.sampled_from(["too few", ""]),
)
repairs = st.builds(
    lambda steps: json.dumps({"repair_steps": steps, "remediation": "count", "hint": "more"}),
    st.lists(
        st.fixed_dictionaries(
            {
                "action": st.just("do"),
                "kind": st.sampled_from(["model", "tool", "person"]),
                "tool": st.sampled_from(["read", "none", ""]),
            }
        ),
        max_size=3,
    ),
)
data = st.sampled_from(['{"city": "Bern", "n": 1}', '{"n": "many"}', "a text"])
readings = st.just('{"tool": "read_file", "arguments": {"path": "session.txt"}}')
texts_of_nobody = st.sampled_from(["{}", "?"])
completeness_checks = st.lists(st.sampled_from(["read", "sum", "none"]), max_size=3).map(
    lambda tools: json.dumps(
        {
            "is_complete": not tools,
            "analysis": "why",
            "missing_aspects": tools,
            "supplements": [{"operation": f"do {tool}", "quote": "do it", "suggested_tools": [tool]} for tool in tools],
        }
    )
)
# What fits each role, so that loops get far; anything else comes now and then, too.
fitting = {
    "critic": critiques,
    "self": opinions,
    "classifier": kinds,
    "planner": plans,
    "tester": st.just(ASSERTS),
    "reflector": st.just('{"on_track": true, "issues": [], "suggestions": ["x"]}') | reflections | repairs,
    "actor": calls | data | st.just("I don't know which city."),
    "escalation": data,
    "diagnoser": texts_of_nobody,
    "completeness": texts_of_nobody | completeness_checks,
    "error_reflector": readings | st.just('{"score": 40, "findings": [{"description": "It was late."}]}'),
    "memory_reflector": readings | st.just('{"memories": [{"type": "rule", "name": "n", "content": "c"}]}'),
}
texts = st.one_of(st.text(max_size=60), critiques, opinions, kinds, data, calls, plans)
failures = st.one_of(
    st.builds(EffectFailed, st.text(max_size=10), spent=st.builds(Spent, prompt_tokens=st.integers(0, 3000))),
    st.builds(EffectTimedOut, st.text(max_size=10)),
)


def cut_off(answer: Performed[Generation]) -> Performed[Generation]:
    cut = {"finish_reason": "length", "fault": AnswerFault.CUT_OFF}
    return answer.model_copy(update={"value": answer.value.model_copy(update=cut)})


def refused(answer: Performed[Generation]) -> Performed[Generation]:
    no = {"text": "", "refusal": "no", "fault": AnswerFault.REFUSED}
    return answer.model_copy(update={"value": answer.value.model_copy(update=no)})


def answers(role: str) -> st.SearchStrategy[Any]:
    """Mostly what fits the role, sometimes nonsense or half of an answer, rarely a failure."""
    text = st.one_of(fitting[role], fitting[role], fitting[role], texts)
    whole = st.builds(said, text, tokens=st.integers(0, 3000), duration_s=st.floats(0, 12))
    told = st.one_of(whole, whole, whole, whole.map(cut_off), whole.map(refused))
    return st.integers(0, 15).flatmap(lambda luck: told if luck else failures)


test_results = st.builds(
    lambda ok, actual: TestResult(
        name="t", passed=ok, actual=actual, expected="1", reason=None if ok else FailureReason.WRONG_ANSWER
    ),
    st.booleans(),
    st.sampled_from(["1", "2", ""]),
)
tool_results = st.one_of(
    st.just(ToolResult(ok=True, content="it says 7")),
    st.builds(lambda failure: ToolResult(ok=False, failure=failure, error="no"), st.sampled_from(ToolFailure)),
)
self_checks: st.SearchStrategy[Any] = st.none() | st.fixed_dictionaries(
    {"ok": st.booleans()},
    optional={
        "issues": st.lists(st.text(max_size=5), max_size=2),
        "interrupted": st.booleans(),
        "unknown": st.just("which city"),
    },
)
agents_repairs = st.lists(st.builds(HandedInRepair, step=st.integers(1, 4), status=st.sampled_from(RepairStatus)))
handed_in = st.builds(
    HandedIn, content=texts, self_check=self_checks, repairs=agents_repairs.map(lambda listed: tuple(listed[:3]))
)
attempts: st.SearchStrategy[Performed[HandedIn]] = st.builds(
    lambda value, tokens: Performed(value=value, spent=Spent(prompt_tokens=tokens)), handed_in, st.integers(0, 900)
)
similar = st.sampled_from(
    [
        SimilarIssues(looked_at=2),
        SimilarIssues(
            looked_at=2,
            found=(SimilarIssue(category=IssueCategory.OTHER, description="x", now="y", similarity=0.9),),
        ),
    ]
)
decisions = st.builds(
    lambda verdict, score: decided(verdict, score=score),
    st.sampled_from(Verdict),
    st.floats(0, 100),
)
reports = st.lists(test_results, min_size=1, max_size=4).map(lambda results: TestReport(results=tuple(results)))
OUTSIDE: dict[type, st.SearchStrategy[Any]] = {
    RunTests: reports,
    CallTool: tool_results,
    AskReviewer: decisions,
    AwaitAttempt: attempts,
    FindSimilarIssues: similar,
}
MAY_SAY_WHY = {Outcome.FAILED, Outcome.UNVERIFIED, Outcome.OVER_BUDGET, Outcome.TIMED_OUT}
limits = st.builds(
    Limits,
    max_iterations=st.integers(1, 5),
    token_budget=st.sampled_from([500, 10_000, 1_000_000]),
    time_budget_s=st.sampled_from([5.0, 30.0, 3_600.0]),
)


@st.composite
def specs(draw: st.DrawFn) -> TaskSpec:
    mode = draw(st.sampled_from([*LOOPS, *([Mode.REFLECTION_PROTOCOL] * 3)]))
    tools = draw(st.sampled_from([(), (READ,), (READ, SUM)])) if mode is not Mode.PLANNING else (READ, SUM)
    call = draw(st.sampled_from([None, ToolCall(tool="read", arguments={})])) if tools else None
    return TaskSpec(
        objective="do it",
        mode=mode,
        kind=draw(st.sampled_from(["", "reasoning", "code_generation"])),
        execution=draw(st.sampled_from(Execution)),
        tests=draw(st.sampled_from([None, TESTS])),
        output_schema=draw(st.sampled_from([None, SCHEMA])),
        tools=tools,
        tool_call=call,
        requirements=draw(st.sampled_from([None, REQUIREMENTS])),
        redo=draw(st.sampled_from([None, None, Redo(content="{}", instructions="again")])),
        knowledge_tool=draw(st.sampled_from([None, READ])),
        has_escalation=draw(st.booleans()),
        failed_call=FailedCall(tool="read", error="no such file") if mode is Mode.TOOL_DIAGNOSIS else None,
        chain_of_thought=draw(st.booleans()),
        has_critic=draw(st.booleans()),
        completeness=draw(st.none() | st.builds(CompletenessSettings, max_supplements=st.integers(0, 2))),
        limits=draw(limits),
        review_policy=ReviewPolicy(audit_share=0.5, unsettled_waits=draw(st.booleans())),
    )


class World:
    """Answers anything, and remembers what it answered and what that cost."""

    def __init__(self, data: st.DataObject, spec: TaskSpec) -> None:
        self.data, self.spec = data, spec
        self.answered: list[Any] = []
        self.tokens, self.active_s, self.cost_usd = 0, 0.0, Decimal(0)
        self.calls = self.turns = 0

    def __call__(self, effect: AnyEffect) -> Any:
        if isinstance(effect, Generate | CallTool):
            self.calls += 1
            assert self.tokens < self.spec.limits.token_budget, f"{effect.key} though the tokens are used up"
            assert self.active_s < self.spec.limits.time_budget_s, f"{effect.key} though the time is up"
        answer = self._answer(effect)
        if isinstance(answer, Performed | EffectFailed):
            self.tokens += answer.spent.tokens
            self.active_s += answer.spent.duration_s
        self.answered.append(answer)
        return answer

    def _answer(self, effect: AnyEffect) -> Any:
        draw = self.data.draw
        match effect:
            case Generate():
                return draw(answers(effect.role))
            case AskPerson(question=question):
                return PersonsAnswer(
                    choice=draw(st.sampled_from(question.choices)), text=draw(st.sampled_from(["", "x"]))
                )
            case Draw(share=share):
                return Drawn(value=draw(st.floats(0, 0.99)), share=share)
            case AwaitTurns():
                return self._turns(effect)
        outside = OUTSIDE.get(type(effect))
        return draw(outside) if outside is not None else noted(effect)

    def _turns(self, effect: AwaitTurns) -> Turns:
        made = self.data.draw(st.integers(1, 4))
        self.turns += made
        first = effect.after + 1
        turns = [Turn(seq=seq, role="tool", is_tool_failure=seq % 3 == 0) for seq in range(first, first + made)]
        return Turns(turns=tuple(turns), is_end=self.turns > 12)


def check(ended: Ended, effects: list[AnyEffect], *, spec: TaskSpec) -> None:
    made = {number for effect in effects if (number := getattr(effect, "attempt", None)) is not None}
    keys = [effect.key for effect in effects]
    assert isinstance(ended.outcome, Outcome)
    assert len(set(keys)) == len(keys)
    assert all(1 <= number <= spec.limits.max_iterations for number in made)
    assert ended.best_attempt is None or ended.best_attempt in made
    assert ended.outcome in MAY_SAY_WHY or not ended.error
    cut = {effect.attempt for effect in effects if isinstance(effect, KeepAttempt) and effect.cut_off}
    judged = {
        effect.judgement.attempt
        for effect in effects
        if isinstance(effect, RecordVerdict) and effect.judgement.referee is not Referee.TOOL
    }
    assert not cut & judged
    check_plans(effects, most=spec.completeness.max_supplements if spec.completeness else 0)
    check_calls(effects, spec=spec)
    kept = [effect.kept for effect in effects if isinstance(effect, RecordReflection)]
    assert [one.number for one in kept] == list(range(1, len(kept) + 1))
    assert [one.turn for one in kept] == sorted({one.turn for one in kept})
    assert ended.outcome not in {Outcome.SUCCEEDED, Outcome.UNVERIFIED} or ended.best_attempt not in cut


def check_plans(effects: list[AnyEffect], *, most: int) -> None:
    """No step is done twice, each plan is checked once, and supplements are no more than `most`."""
    outcomes = [effect.outcome for effect in effects if isinstance(effect, RecordPlanStep)]
    done = [outcome.step for outcome in outcomes if outcome.state is PlanStepState.DONE]
    assert len(set(done)) == len(done)
    checked = [effect.found.attempt for effect in effects if isinstance(effect, RecordCompleteness)]
    assert len(set(checked)) == len(checked)
    for effect in effects:
        if isinstance(effect, RecordSupplements):
            assert len(effect.done.results) <= most
            assert effect.done.succeeded <= effect.done.attempted


def check_calls(effects: list[AnyEffect], *, spec: TaskSpec) -> None:
    """Where the loop is one call, the same is made twice at most unasked, and each failure is diagnosed."""
    made = [(effect.tool, json.dumps(effect.arguments)) for effect in effects if isinstance(effect, CallTool)]
    if spec.mode is not Mode.EXTERNAL_LOOP or not made:
        return
    assert len(made) <= 3
    asked = any(isinstance(effect, AskPerson) for effect in effects)
    assert asked or all(made.count(one) <= 2 for one in made)
    verdicts = [effect.judgement for effect in effects if isinstance(effect, RecordVerdict)]
    failures = [effect for effect in effects if isinstance(effect, RecordToolFailure)]
    assert len(failures) == sum(not judged.passed for judged in verdicts)


# A run is many draws, slow to make where the processors are busy; a loop without end is found by MOST_CALLS.
@settings(max_examples=200)
@given(st.data(), specs())
def test_any_loop_ends_within_its_limits_and_its_journal_replays_to_the_same_end(
    data: st.DataObject, spec: TaskSpec
) -> None:
    world = World(data, spec)
    played = play(spec, world)
    event(f"{spec.mode.value}: {played.ended.outcome.value}")
    check(played.ended, played.effects, spec=spec)
    assert world.calls <= MOST_CALLS

    recorded = iter(world.answered)
    again = play(spec, lambda _effect: next(recorded))
    assert [(e.kind, e.key) for e in again.effects] == [(e.kind, e.key) for e in played.effects]
    assert again.ended == played.ended
