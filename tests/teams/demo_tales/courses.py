"""The courses that a tale can take, and which tales take which."""

import json
import re
from collections.abc import Callable
from typing import Any

from reflection_app.adapters.llm.scripted import register_script
from reflection_app.core.audit import Actor
from reflection_app.loops.attempt_effects import DirectorsDecision
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.repairs.completeness import CheckSubmission, check_completeness
from reflection_app.repairs.models import Ticket
from reflection_app.repairs.tickets import ClosingInput, close_ticket, start_ticket
from reflection_app.repairs.tool_failures import (
    FixOutcomeSubmission,
    ToolFailureSubmission,
    report_fix_outcome,
    report_tool_failure,
)
from reflection_app.reviews.models import About, Panel, Review
from reflection_app.runs.advance import advance
from reflection_app.runs.handing_in import AttemptInput, hand_in_attempt
from reflection_app.runs.models import Run, RunState
from reflection_app.sessions.models import Reflector
from reflection_app.sessions.recording import TranscriptSubmission, open_transcript
from tests.teams.demo_tales import checked, other, writing
from tests.teams.demo_tales.notebook import JONAS, MAYA
from tests.teams.demo_tales.recording import (
    SURE,
    UNSURE,
    Scene,
    Tape,
    critique,
    issues_of,
    keep_script,
    the_task,
)
from tests.teams.demo_tales.seven import STORIES
from tests.teams.demo_tales.tale import Tale

PANEL = {"audit_share": 0.3, "rules": [{"verdicts": ["REJECT"]}, {"confidence_below": 0.6, "reviewers": 2}]}
VARIANTS = ("", "given", "withheld")
Scenes = Callable[..., Scene]


def play_all(tape: Tape, *, only: str = "") -> None:
    """Every tale in every course; with `only`, the tales whose names fit that pattern."""

    def wanted(name: str) -> bool:
        return re.search(only, name) is not None

    for number, tale in enumerate(writing.TALES):
        if wanted(tale.name):
            _judged(tape, tale, number=number)
    for tale in (*checked.CODE, *checked.DATA):
        if wanted(tale.name):
            _tested(tape, tale)
    for tale in checked.REASONING:
        if wanted(tale.name):
            _reasoned(tape, tale)
    if wanted("others"):
        _others(tape)
    if wanted("stories"):
        for story in STORIES:
            story(tape)


# Texts that a critic judges.


def _clean(tale: Tale) -> dict[str, str]:
    return {"attempt-1/answer": tale.good, "attempt-1/critique": critique("pass1", approved=True, tale=tale)}


def _revised(tale: Tale) -> dict[str, str]:
    return {
        "attempt-1/answer": tale.flawed,
        "attempt-1/critique": critique("revise1", approved=False, tale=tale),
        "attempt-2/answer": tale.good,
        "attempt-2/critique": critique("pass2", approved=True, sure=SURE[1], tale=tale),
    }


def _given_up(tale: Tale) -> dict[str, str]:
    return {
        "attempt-1/answer": tale.flawed,
        "attempt-1/critique": critique("revise1", approved=False, tale=tale),
        "attempt-2/answer": tale.flawed,
        "attempt-2/critique": critique("revise2", approved=False, sure=SURE[1], tale=tale),
    }


def _lenient(tale: Tale, *, sure: str = SURE[0]) -> dict[str, str]:
    """The critic lets the flawed one through; what a person sends back comes well."""
    return {
        "attempt-1/answer": tale.flawed,
        "attempt-1/critique": critique("lenient1", approved=True, sure=sure, tale=tale),
        "attempt-2/answer": tale.good,
        "attempt-2/critique": critique("pass2", approved=True, sure=SURE[1], tale=tale),
    }


def _unsure(tale: Tale) -> dict[str, str]:
    return {
        "attempt-1/answer": tale.good,
        "attempt-1/critique": critique("pass1", approved=True, sure=UNSURE, tale=tale),
        "attempt-2/answer": tale.good,
        "attempt-2/critique": critique("pass2", approved=True, sure=SURE[1], tale=tale),
    }


def _rejected(tale: Tale) -> dict[str, str]:
    return {
        "attempt-1/answer": tale.flawed,
        "attempt-1/critique": critique("reject1", approved=False, tale=tale),
        "attempt-2/answer": tale.good,
        "attempt-2/critique": critique("pass2", approved=True, sure=SURE[1], tale=tale),
    }


def _judged(tape: Tape, tale: Tale, *, number: int) -> None:
    task = the_task(tale)
    has_lessons = tale.agent in {"support-writer", "sql-analyst", "copywriter"}

    def scene(course: str, lessons: str = "", **fields: Any) -> Scene:
        name = f"{tale.name}/{course}" + (f"/{lessons}" if lessons else "")
        return Scene(tape, name, agent=tale.agent, lessons=lessons, **fields)

    for lessons in VARIANTS if has_lessons else ("",):
        played = scene("clean", lessons)
        played.run(_clean(tale), **task)
        played.end(vary=dict(tale.vary), first=True)
        played = scene("revised", lessons)
        played.run(_revised(tale), **task)
        played.end(vary=dict(tale.vary), first=False)
    played = scene("exhausted")
    played.run(_given_up(tale), limits={"max_iterations": 2}, **task)
    played.end(vary=dict(tale.vary), first=False)

    _reviewed(scene, tale, late="given" if has_lessons else "", number=number)
    _sent_back(scene, tale, number=number)
    if number % 3 == 0:
        _judged_blindly(scene, tale)
    if tale.name in OPEN:
        _wait_for_visitors(tape, tale, OPEN[tale.name])


def _reviewed(scene: Scenes, tale: Tale, *, late: str, number: int) -> None:
    """What is looked at by a person: drawn for an audit, or because the critic is not sure."""
    task = the_task(tale)
    played = scene("audited", late)
    played.run(_clean(tale), hit=True, **task)
    played.decide(played.waiting(), by=MAYA, reason=tale.approval)
    played.end(vary=dict(tale.vary), first=True, people=True)

    played = scene("unsure-approved", late)
    run = played.run(_unsure(tale), **task)
    played.decide(played.waiting(), by=JONAS, reason=tale.approval)
    played.go_on(run)
    played.end(vary=dict(tale.vary), first=True, people=True)

    played = scene("unsure-overruled")
    run = played.run(_lenient(tale, sure=UNSURE), **task)
    review = played.waiting()
    if number % 2:
        played.say(About.REVIEW, review.pk, "The critic likes it more than I do. Please look.", by=MAYA)
    played.decide(review, by=JONAS, verdict=VerdictName.REVISE, issues=issues_of(tale), reason=tale.complaint)
    played.go_on(run)
    played.end(vary=dict(tale.vary), first=False, people=True)

    _audit_overruled(scene("audit-overruled"), tale)

    played = scene("audit-open", late)
    played.run(_clean(tale), hit=True, **task)
    played.end(vary=dict(tale.vary), first=True, is_open=True)


def _sent_back(scene: Scenes, tale: Tale, *, number: int) -> None:
    """What the critic rejects: closed by a person, or ordered again."""
    task = the_task(tale)
    if number % 2 == 0:
        played = scene("rejected-closed")
        run = played.run(_rejected(tale), **task)
        played.decide(played.waiting(), by=MAYA, verdict=None, reason=tale.complaint)
        played.go_on(run)
        played.end(vary=dict(tale.vary), first=False, people=True)
    else:
        played = scene("rejected-redone")
        run = played.run(_rejected(tale), **task)
        review = played.waiting()
        told = " ".join(fault.fix for fault in tale.faults)
        played.mark("reviewer")
        _direct(played, review, by=JONAS, decision=DirectorsDecision.REDO, instructions=told)
        played.go_on(run)
        played.end(vary=dict(tale.vary), first=False, people=True)


def _judged_blindly(scene: Scenes, tale: Tale) -> None:
    """What two people judge blindly, who agree or do not."""
    task = the_task(tale)
    for course, second in (("panel-agrees", None), ("panel-differs", VerdictName.REVISE)):
        played = scene(course, review_policy=PANEL)
        run = played.run(_unsure(tale), **task)
        panel = Panel.objects.get(run=run)
        played.decide(played.waiting(panel=panel), by=MAYA, reason=tale.approval)
        wanted = {"issues": issues_of(tale)[:1], "reason": tale.complaint} if second else {"reason": tale.approval}
        played.decide(played.waiting(panel=panel, reason="low_confidence"), by=JONAS, verdict=second, **wanted)
        if second:
            played.decide(
                played.waiting(panel=panel, reason="adjudication"), by=MAYA, reason="It is what was asked for."
            )
        played.go_on(run)
        played.end(vary=dict(tale.vary), first=True, people=True)


def _done_again(tale: Tale) -> dict[str, str]:
    """What is answered where a person ordered it to be done again: reflected on, repaired, and judged."""
    first = tale.faults[0]
    reflected = {
        "expected": first.fix,
        "actual": first.description,
        "gap": tale.complaint,
        "questions": ["What would whoever reads it need to know?"],
        "surface_issue": first.description,
        "occurrence_process": [
            "1. The answer was written from the first line of the task",
            "2. The rest was not gone through",
        ],
        "root_cause": "The conditions of the task were not gone through one by one.",
    }
    step = {"action": first.fix, "kind": "model", "tool": "", "expected_outcome": tale.praise, "is_checkpoint": True}
    planned = {
        "repair_steps": [step],
        "resources_needed": [],
        "estimated_effort": "low",
        "remediation": "Go through the conditions of the task before answering.",
        "learning_notes": first.fix,
        "anti_pattern": None,
        "instruction": "",
        "hint": "Go through the conditions of the task one by one before answering.",
    }
    return _revised(tale) | {
        "attempt-1/answer": tale.good,
        "attempt-1/reflect": json.dumps(reflected, ensure_ascii=False),
        "attempt-1/plan": json.dumps(planned, ensure_ascii=False),
        "attempt-1/repair-1/work": tale.good,
    }


def _audit_overruled(played: Scene, tale: Tale) -> None:
    """A person disagrees with a verdict that stood, and the run that is begun for it does better."""
    played.run(_lenient(tale), hit=True, **the_task(tale))
    played.decide(played.waiting(), by=JONAS, verdict=VerdictName.REVISE, issues=issues_of(tale), reason=tale.complaint)
    for ordered in Run.objects.filter(project=played.project, state=RunState.QUEUED):
        played.rewrite(_done_again(tale))
        played.go_on(ordered)
    played.end(vary=dict(tale.vary), first=True, people=True)


# Which tales wait for whoever looks at the demo, and for what; a script goes on with them whatever is decided.
OPEN = {
    "late-parcel": "unsure",
    "outage-notice": "rejected",
    "product-copy": "lenient",
    "churn-query": "unsure-panel",
    "meeting-notes": "rejected",
    "slow-report": "lenient",
    "ui-strings-de": "unsure",
    "release-note-zh": "lenient",
}


def _wait_for_visitors(tape: Tape, tale: Tale, course: str) -> None:
    answers = {
        "unsure": lambda: _unsure(tale),
        "unsure-panel": lambda: _unsure(tale),
        "rejected": lambda: _rejected(tale),
        "lenient": lambda: _lenient(tale, sure=UNSURE),
    }[course]()
    answers |= {
        "attempt-3/answer": tale.good,
        "attempt-3/critique": critique("pass2", approved=True, sure=SURE[1], tale=tale),
    }
    answers = {key: _plain(said) for key, said in answers.items()}
    script = f"demo-{tale.name}"
    keep_script(script, answers)
    fields: dict[str, Any] = {"review_policy": PANEL} if course == "unsure-panel" else {}
    played = Scene(tape, f"{tale.name}/open", agent=tale.agent, script=script, **fields)
    played.run({}, **the_task(tale))
    if course == "unsure":
        review = played.waiting()
        played.say(About.REVIEW, review.pk, "The critic is unsure here, and so am I. What do the others say?", by=JONAS)
    played.end(first=None, is_open=True)


def _plain(said: str) -> str:
    """What a script says, with round figures."""
    for figure, plain in {
        "91.13": "91",
        "88.57": "89",
        "90.17": "90",
        "94.53": "95",
        "71.13": "71",
        "68.57": "69",
        "41.13": "41",
        "56.57": "57",
        "14.13": "14",
        "21.57": "22",
        "0.9137": "0.91",
        "0.8941": "0.89",
        "0.4537": "0.45",
    }.items():
        said = said.replace(figure, plain)
    return said


def _direct(scene: Scene, review: Review, *, by: str, **said: Any) -> None:
    from reflection_app.reviews.claiming import claim_review
    from reflection_app.reviews.deciding import decide_review
    from reflection_app.reviews.decisions import DecisionInput

    actor = scene.tape.people[by]
    held = claim_review(review, actor=actor)
    scene.mark("reading")
    decide_review(held, DecisionInput(lease_token=held.lease_token, **said), actor=actor)


# Code that tests check, data that a schema checks, and reasoning that the model checks itself.


def _tested(tape: Tape, tale: Tale) -> None:
    task = the_task(tale)
    for lessons in VARIANTS:
        suffix = f"/{lessons}" if lessons else ""
        for course, said in (
            ("clean", (tale.good,)),
            ("revised", (tale.flawed, tale.good)),
            ("exhausted", (tale.flawed, tale.flawed)),
        ):
            if course == "exhausted" and (lessons or "output_schema" in tale.task):
                continue
            played = Scene(tape, f"{tale.name}/{course}{suffix}", agent=tale.agent, lessons=lessons)
            answers = {f"attempt-{number}/answer": text for number, text in enumerate(said, 1)}
            limits = {"max_iterations": 2} if course == "exhausted" else {}
            played.run(answers, limits=limits, **task)
            played.end(vary=dict(tale.vary), first=course == "clean")


def _reasoned(tape: Tape, tale: Tale) -> None:
    def itself(*, good: bool) -> str:
        sure = SURE[1] if good else SURE[0]
        issues = [] if good else [fault.description for fault in tale.faults]
        said = json.dumps({"is_satisfactory": good, "issues": issues}, ensure_ascii=False)
        return f'{said[:-1]}, "confidence": {sure}}}'

    reflection = json.dumps(
        {
            "issues": [fault.description for fault in tale.faults],
            "root_causes": ["The conditions were read once and not gone through one by one."],
            "suggestions": [fault.fix for fault in tale.faults],
        },
        ensure_ascii=False,
    )
    courses = {
        "clean": {"attempt-1/answer": tale.good, "attempt-1/self-evaluation": itself(good=True)},
        "revised": {
            "attempt-1/answer": tale.flawed,
            "attempt-1/self-evaluation": itself(good=False),
            "attempt-1/reflection": reflection,
            "attempt-2/answer": tale.good,
            "attempt-2/self-evaluation": itself(good=True),
        },
    }
    for course, answers in courses.items():
        played = Scene(tape, f"{tale.name}/{course}", agent=tale.agent)
        played.run(answers, **the_task(tale))
        played.end(vary=dict(tale.vary), first=course == "clean")


# What comes otherwise.


def _others(tape: Tape) -> None:
    for tale in other.PROTOCOL:
        for course in ("clean", "revised", "declined"):
            _protocol(tape, tale, course)
    for number, tale in enumerate(other.TICKETS):
        _ticket(tape, tale, number=number)
    for session in other.SESSIONS:
        _session(tape, session)
    for number, failure in enumerate(other.FAILURES):
        _failure(tape, failure, number=number)
    for number, check in enumerate(other.CHECKS):
        _check(tape, check, number=number)
    _broken_tests(tape)


def _protocol(tape: Tape, tale: Tale, course: str) -> None:
    scene = Scene(tape, f"{tale.name}/{course}", agent=tale.agent)
    if course == "clean":
        answers = _clean(tale)
    else:
        answers = _revised(tale) | {
            "attempt-1/reflect": tale.answers["reflect"],
            "attempt-1/plan": tale.answers["plan"],
            "attempt-1/repair-1/work": tale.answers.get("repair", tale.good),
        }
    scene.run(answers, **the_task(tale))
    scene.end(vary=dict(tale.vary), first=scene.name.endswith("clean"))


def _ticket(tape: Tape, tale: Tale, *, number: int) -> None:
    scene = Scene(tape, f"{tale.name}/ticket", agent=tale.agent)
    answers = {"attempt-1/critique": critique("revise1", approved=False, tale=tale)}
    run = scene.run(answers, execution="external", mode="actor_critic", audits=False, **the_task(tale))
    scene.mark("agent")
    hand_in_attempt(run, AttemptInput(content=tale.flawed), actor=Actor())
    scene.go_on(run)
    ticket = Ticket.objects.get(run=run)
    if number == 1:
        scene.mark("reviewer")
        start_ticket(ticket, actor=tape.people[MAYA])
    if number == 3:
        scene.mark("reviewer")
        close_ticket(
            ticket,
            ClosingInput(reason="The supplier sent a new list; the check begins again."),
            actor=tape.people[MAYA],
        )
        scene.go_on(run)
    scene.end(first=None, is_open=number != 3)


def _session(tape: Tape, session: dict[str, Any]) -> None:
    answers = {
        "errors-1": json.dumps(session["errors"], ensure_ascii=False),
        "memories-1": json.dumps({"memories": session["memories"]}, ensure_ascii=False),
    }
    model = register_script(f"demo-session-{len(tape.tales)}", answers)
    scene = Scene(
        tape,
        f"session-{session['name']}/ended",
        agent=session["agent"],
        models_by_role={"default": model},
        notebook={"reflection": "post_hoc"},
    )
    given = {name: session[name] for name in ("agent", "objective", "messages")}
    scene.mark("agent")
    transcript = open_transcript(
        scene.project, TranscriptSubmission.model_validate(given | {"ended": True}), actor=Actor()
    )
    for fork in Reflector.objects.filter(transcript=transcript).order_by("pk"):
        advance(fork.fork_id)
    scene.end(vary=dict(session.get("vary", {})), first=None)


def _failure(tape: Tape, failure: dict[str, Any], *, number: int) -> None:
    fields: dict[str, Any] = {}
    if "said" in failure:
        model = register_script(f"demo-diagnosis-{number}", {"reported/diagnose": json.dumps(failure["said"])})
        fields = {"models_by_role": {"default": model}}
    scene = Scene(tape, f"failure-{failure['tool']}/reported", agent=failure["agent"], **fields)
    names = ("tool", "agent", "params", "error_message", "status", "retry_after_seconds", "tools")
    given = {name: failure[name] for name in names if name in failure}
    row = report_tool_failure(scene.project, ToolFailureSubmission.model_validate(given), actor=Actor())
    for run in Run.objects.filter(project=scene.project):
        advance(run.pk)
    row.refresh_from_db()
    if failure["worked"] is not None:
        scene.mark("agent")
        told = {"worked": failure["worked"], "fix": failure["fix"]}
        if "changed" in failure:
            told["params"] = failure["changed"]
        if "other_tool" in failure:
            told["tool"] = failure["other_tool"]
        report_fix_outcome(row, FixOutcomeSubmission.model_validate(told), actor=Actor())
    scene.end(vary=dict(failure.get("vary", {})), first=None)


def _check(tape: Tape, check: dict[str, Any], *, number: int) -> None:
    model = register_script(
        f"demo-check-{number}", {"history/completeness": json.dumps(check["said"], ensure_ascii=False)}
    )
    scene = Scene(tape, f"check-{number}/checked", agent=check["agent"], models_by_role={"default": model})
    names = ("objective", "history", "tools", "kind", "agent")
    run = check_completeness(
        scene.project, CheckSubmission.model_validate({name: check[name] for name in names}), actor=Actor()
    )
    advance(run.pk)
    scene.end(first=None)


def _broken_tests(tape: Tape) -> None:
    """Tests that fail by themselves: a person picks."""
    script = "demo-median"
    code = (
        "def median(values):",
        "    ordered = sorted(values)",
        "    middle = len(ordered) // 2",
        "    if len(ordered) % 2:",
        "        return ordered[middle]",
        "    return (ordered[middle - 1] + ordered[middle]) / 2",
    )
    right = "\n".join(("```python", *code, "```"))
    keep_script(script, {f"attempt-{number}/answer": right for number in (1, 2, 3)})
    scene = Scene(tape, "median/open", agent="coder", script=script)
    tests = "assert median([3, 1, 2]) == 2\nassert median([4, 1, 2, 3]) == expected_median\n"
    scene.run(
        {},
        objective="Write `median(values)`: the middle value, of an even number of values the mean of the two in the "
        "middle.",
        tests={"script": tests},
    )
    scene.end(first=None, is_open=True)
    assert Review.objects.filter(project=scene.project, reason="broken_tests").exists()
