"""Recording: each tale in a project of its own, with the same actions that make such rows in life."""

import json
import lzma
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from typing import Any
from unittest.mock import patch

from django.contrib.auth.models import User
from django.db import connection
from django.utils import timezone

from notebook_app.models import Entry
from reflection_app.adapters.llm.scripted import SCRIPTS, register_script
from reflection_app.core.audit import Actor
from reflection_app.core.models import Membership, Project, Role
from reflection_app.loops.attempt_effects import Decision
from reflection_app.loops.verdicts import Issue
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.notebook.background import compare_due
from reflection_app.notebook.curating import approve_entry, reject_entry, retire_entry
from reflection_app.notebook.input import CurationInput, EntryInput
from reflection_app.notebook.proposing import propose_entry
from reflection_app.reviews.claiming import claim_review
from reflection_app.reviews.comments import CommentInput, add_comment
from reflection_app.reviews.deciding import decide_review
from reflection_app.reviews.decisions import DecisionInput
from reflection_app.reviews.models import About, Review, ReviewState
from reflection_app.runs import lessons
from reflection_app.runs.advance import advance
from reflection_app.runs.models import Run
from reflection_app.tasks.submission import read_submission
from reflection_app.tasks.submitting import submit_task
from reflection_app.teams.demo.filling import RECORDED
from reflection_app.teams.tools import add_builtin_tools
from tests.teams.demo_tales.notebook import ENTRIES, JONAS, LESSONS, MAYA
from tests.teams.demo_tales.rows_told import AUDIT_SHARE, OF_NOTEBOOK, Told
from tests.teams.demo_tales.tale import Tale

# What stands in the recording for a figure that is another each time it is told; unlike any other number in it.
FIGURES = {
    "pass1": ("91.13", "88.57", "89.85"),
    "pass2": ("90.17", "94.53", "92.35"),
    "lenient1": ("71.13", "68.57", "69.85"),
    "revise1": ("41.13", "56.57", "48.85"),
    "revise2": ("46.17", "52.53", "49.35"),
    "reject1": ("14.13", "21.57", "17.85"),
}
SURE, UNSURE = ("0.9137", "0.8941"), "0.4537"
GIVEN, WITHHELD, HIT, MISSED = 0.70731, 0.10731, 0.13, 0.83
LIMITS = {"token_budget": 60_000, "time_budget_s": 120.0, "max_iterations": 3}


def numbers() -> dict[str, str]:
    """The figures of the recording, each with what is to stand there."""
    found = {
        figure: f"{name}:{part}" for name, parts in FIGURES.items() for part, figure in zip("abm", parts, strict=True)
    }
    return found | {
        SURE[0]: "sure1",
        SURE[1]: "sure2",
        UNSURE: "unsure",
        str(GIVEN): "given",
        str(WITHHELD): "withheld",
    }


class Chance:
    """Draws as they are wanted, in place of chance."""

    def __init__(self, value: float) -> None:
        self.value = value

    def random(self) -> float:
        return self.value


@contextmanager
def drawn(*, lesson: float, audit: float) -> Iterator[None]:
    """What is drawn for lessons and for audits meanwhile."""
    with (
        patch.object(lessons, "SystemRandom", partial(Chance, lesson)),
        patch.object(secrets, "SystemRandom", partial(Chance, audit)),
    ):
        yield


class Tape:
    """What has been recorded so far."""

    def __init__(self) -> None:
        self.tales: dict[str, Any] = {}
        # Entries that tales proposed, by name, as they are proposed again for the one notebook.
        self.proposed: dict[str, dict[str, Any]] = {}
        self.people = {name: _person(name) for name in (MAYA, JONAS)}


def _person(name: str) -> Actor:
    return Actor(user=User.objects.create(username=name, is_active=False))


class Scene:
    """One project in which a tale is played, and what is to be known of it besides its rows."""

    def __init__(
        self, tape: Tape, name: str, *, agent: str = "", lessons: str = "", script: str = "", **fields: Any
    ) -> None:
        self.tape, self.name, self.agent, self.lessons, self.script = tape, name, agent, lessons, script
        given = {"review_policy": {"audit_share": AUDIT_SHARE}, "limits": LIMITS} | fields
        holdout = {"lessons": {"most": 3, "holdout_share": 0.3}} if lessons else {"lessons": None}
        self.project = Project.objects.create(
            slug=f"r{len(tape.tales)}", name="Demo", notebook=holdout | given.pop("notebook", {}), **given
        )
        for person in User.objects.filter(username__in=tape.people):
            Membership.objects.create(project=self.project, user=person, role=Role.CURATOR)
        self.marks: list[tuple[datetime, str]] = []
        for learned in LESSONS if lessons else ():
            if learned.entry["agent"] != agent:
                continue
            entry = propose_entry(self.project, EntryInput.model_validate(learned.entry), actor=Actor()).entry
            approve_entry(self.project, entry.id, CurationInput(), actor=tape.people[learned.by])

    def mark(self, kind: str) -> None:
        """That now somebody takes their time: the gap up to the next moment is filled by `kind`."""
        self.marks.append((timezone.now(), kind))

    def run(self, answers: dict[str, str], *, audits: bool = True, hit: bool = False, **task: Any) -> Run:
        """A run, as far as it goes by itself."""
        name = self.script or f"demo-r{len(self.tape.tales)}"
        model = register_script(name, answers) if answers else f"scripted/{name}"
        told = read_submission({"agent": self.agent, **task})
        run = submit_task(self.project, told, actor=Actor(), models={"default": model})
        if audits and not self.script:
            run.spec["review_policy"]["audit_share"] = AUDIT_SHARE
            run.save(update_fields=["spec"])
        return self.go_on(run, hit=hit)

    def rewrite(self, answers: dict[str, str]) -> None:
        """What the script of the scene says from now on."""
        register_script(f"demo-r{len(self.tape.tales)}", answers)

    def go_on(self, run: Run, *, hit: bool = False) -> Run:
        with drawn(lesson=WITHHELD if self.lessons == "withheld" else GIVEN, audit=HIT if hit else MISSED):
            advance(run.pk)
        run.refresh_from_db()
        return run

    def decide(self, review: Review, *, by: str = MAYA, verdict: VerdictName | None = None, **said: Any) -> None:
        """The review, taken and decided after a while."""
        self.mark("reviewer")
        actor = self.tape.people[by]
        held = claim_review(review, actor=actor)
        self.mark("reading")
        decision = Decision.OVERRULE if verdict else Decision.APPROVE
        told = {"decision": decision, "verdict": verdict} | said
        decide_review(held, DecisionInput(lease_token=held.lease_token, **told), actor=actor)

    def say(self, about: About, about_id: Any, text: str, *, by: str = JONAS) -> None:
        self.mark("reading")
        add_comment(self.project, about, about_id, CommentInput(text=text), actor=self.tape.people[by])

    def waiting(self, **which: Any) -> Review:
        return Review.objects.filter(project=self.project, state=ReviewState.WAITING, **which).order_by("pk")[0]

    def end(self, *, vary: dict[str, tuple[str, ...]] | None = None, **facts: Any) -> None:
        """Keeps what happened."""
        entries = {str(one.pk): one.name for one in Entry.objects.filter(project_id=self.project.pk)}
        known = {learned.entry["name"] for learned in LESSONS}
        for entry in Entry.objects.filter(project_id=self.project.pk).exclude(name__in=known):
            fields = ("kind", "name", "description", "content", "details", "agent", "category", "tags")
            self.tape.proposed.setdefault(entry.name, {name: getattr(entry, name) for name in fields})
        told = Told(
            self.project,
            shared=entries,
            vary={} if self.script else dict(vary or {}),
            numbers=numbers(),
            marks=self.marks,
            keeps_script=bool(self.script),
        )
        first = Run.objects.filter(project=self.project).order_by("pk").first()
        self.tape.tales[self.name] = (
            told.kept()
            | {
                "agent": self.agent,
                "lessons": self.lessons,
                "outcome": (first.outcome or "") if first else "",
            }
            | facts
        )


Course = Callable[[Scene, Tale], Any]


def critique(figures: str, *, approved: bool, sure: str = SURE[0], tale: Tale | None = None) -> str:
    """What the critic says of an attempt, with figures of the recording."""
    first, second, _mean = FIGURES[figures]
    faults = () if approved and figures.startswith("pass") else (tale.faults if tale else ())
    praise = [tale.praise] if tale and tale.praise and approved else []
    said = {
        "approved": approved,
        "feedback": {
            "strengths": praise,
            "weaknesses": [fault.description for fault in faults][:1] if not approved else [],
            "suggestions": [],
        },
        "issues": []
        if approved
        else [
            {
                "category": fault.category,
                "severity": fault.severity,
                "description": fault.description,
                "suggested_fix": fault.fix,
            }
            for fault in faults
        ],
    }
    head = f'{{"completeness": {first}, "correctness": {second}, "confidence": {sure}, '
    return head + json.dumps(said, ensure_ascii=False)[1:]


def issues_of(tale: Tale) -> tuple[Issue, ...]:
    return tuple(
        Issue.model_validate(
            {
                "category": fault.category,
                "severity": fault.severity,
                "description": fault.description,
                "suggested_fix": fault.fix,
            }
        )
        for fault in tale.faults
    )


def record_all(only: str = "") -> int:
    """How many bytes the recording has, written to where the demo is loaded from."""
    from tests.teams.demo_tales import courses

    # Nothing of this has to outlive a power cut.
    with connection.cursor() as cursor:
        cursor.execute("ALTER SYSTEM SET synchronous_commit = off")
        cursor.execute("SELECT pg_reload_conf()")
    tape = Tape()
    # With a pattern, the other tales stay as they were recorded before.
    former = json.loads(lzma.decompress(RECORDED.read_bytes())) if only else {"tales": {}, "proposed": {}}
    tape.proposed = former["proposed"]
    courses.play_all(tape, only=only)
    _notebook(tape)
    told = {"tales": former["tales"] | tape.tales, "proposed": tape.proposed}
    content = lzma.compress(json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode())
    RECORDED.write_bytes(content)
    return len(content)


def _notebook(tape: Tape) -> None:
    """The one notebook that all tales share: every entry proposed once, some of them curated."""
    scene = Scene(tape, "notebook", lessons="")
    for learned in ENTRIES:
        propose_entry(scene.project, EntryInput.model_validate(learned.entry), actor=Actor())
    for fields in tape.proposed.values():
        if fields["kind"] != "fix_pair":
            propose_entry(scene.project, EntryInput.model_validate(fields), actor=Actor())
    while compare_due():
        pass
    deeds = {"approve": approve_entry, "reject": reject_entry, "retire": retire_entry}
    for learned in ENTRIES:
        if learned.deed:
            entry_id = Entry.objects.get(project_id=scene.project.pk, name=learned.entry["name"]).pk
            actor = tape.people[learned.by]
            if learned.deed == "retire":
                approve_entry(scene.project, entry_id, CurationInput(), actor=actor)
            deeds[learned.deed](scene.project, entry_id, CurationInput(reason=learned.reason), actor=actor)
    rows = Told(
        scene.project,
        shared={str(one.pk): one.name for one in Entry.objects.filter(project_id=scene.project.pk)},
        tables=OF_NOTEBOOK | {"audit", "labels"},
    )
    kept = rows.kept()
    kept["life"] = {
        learned.entry["name"]: {
            "days": learned.days,
            "after": learned.after_days,
            "agent": learned.entry["agent"] if learned.is_lesson else "",
        }
        for learned in ENTRIES
    }
    tape.tales["notebook"] = kept


def keep_script(name: str, answers: dict[str, str]) -> None:
    """Writes a script that a visitor's run goes on with."""
    text = json.dumps({"answers": {key: {"text": said} for key, said in answers.items()}}, ensure_ascii=False, indent=2)
    (SCRIPTS / f"{name}.json").write_text(text + "\n", encoding="utf-8")


def builtin(scene: Scene) -> None:
    add_builtin_tools(scene.project, actor=Actor())


def the_task(tale: Tale) -> dict[str, Any]:
    given = {"objective": tale.objective, **tale.task}
    if tale.kind:
        given["kind"] = tale.kind
    return given
