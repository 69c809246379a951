"""Loading the demo: a project of made-up work that shows every page at its best, in a few seconds and without a model.

Rows are written straight into their tables, as an import of a project does it; nothing of it runs, and nobody is told.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime, timedelta
from itertools import batched, count
from random import Random
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db import IntegrityError, connection, models, transaction
from django.db.models import Max
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from notebook_app.public import recount
from reflection_app.core.audit import Actor, audit
from reflection_app.core.errors import Conflict
from reflection_app.core.models import Membership, OwnWork, Profile, Project, Role
from reflection_app.metrics.figuring import rebuild
from reflection_app.metrics.models import FigureDue
from reflection_app.repairs.models import FixPair, ToolFailure
from reflection_app.reviews.asking import AskInput, ask_for_review
from reflection_app.reviews.comments import CommentInput, add_comment
from reflection_app.reviews.models import About, Review, ReviewState
from reflection_app.runs.models import Run
from reflection_app.teams.archive.tables import TABLES
from reflection_app.teams.demo.arranged import arrange
from reflection_app.teams.demo.besides import tell_besides
from reflection_app.teams.demo.filling import EPOCH, EVIDENCE, ONCE, Tale, Telling, recorded
from reflection_app.teams.demo.month import Planned, first_told, planned_month
from reflection_app.teams.tools import add_builtin_tools

NAME, SLUG = "Demo", "demo"
SEED = 45
REVIEWERS = ("maya.demo", "jonas.demo")
NOTEBOOK = "notebook"
ROWS_AT_ONCE = 400
SETTINGS: dict[str, Any] = {
    "notebook": {"lessons": {"most": 3, "holdout_share": 0.3}},
    "review_policy": {"audit_share": 0.3},
    "waiting": {"review_goal_minutes": 60 * 42},
}


class DemoIsThere(Conflict):
    """There is a demo already."""

    title = gettext_noop("There is a demo already")


def demo_there() -> Project | None:
    """The demo that is there, whoever is its member; None where there is none, or it was removed."""
    return Project.objects.filter(is_demo=True, deleted_at=None).first()


@transaction.atomic
def load_demo(
    *, actor: Actor, project: Project | None = None, now: datetime | None = None, most: int | None = None
) -> Project:
    """The demo project; `project` where one was made for it. Who loads it becomes its admin.

    With `most` only about so many runs of the month are told. Raises DemoIsThere.
    """
    project = project or _new_project()
    try:
        with transaction.atomic():
            Project.objects.filter(pk=project.pk).update(is_demo=True, **SETTINGS)
    except IntegrityError:
        raise DemoIsThere(_("There is a demo on this desk already; remove it first.")) from None
    project.refresh_from_db()
    if not project.tools.exists():
        add_builtin_tools(project, actor=Actor())
    people = {name: _reviewer(project, name) for name in REVIEWERS}
    if actor.user is not None:
        Membership.objects.get_or_create(project=project, user=actor.user, defaults={"role": Role.ADMIN})
    now = now or timezone.now()
    tell(project, people=people, now=now, most=most)
    tell_besides(project, reviewer=people[REVIEWERS[0]], now=now, chance=Random(SEED))  # noqa: S311
    arrange(project, people=list(people.values()), admin=actor)
    audit(project.pk, actor, "demo.loaded", target=project)
    if actor.user is not None:
        talk_to(project, actor.user, reviewer=people[REVIEWERS[0]])
    return project


def _new_project() -> Project:
    slug = next(one for number in count(1) if not Project.objects.filter(slug=(one := _numbered(number))).exists())
    try:
        with transaction.atomic():
            return Project.objects.create(slug=slug, name=NAME, own_work=OwnWork.PEOPLE)
    except IntegrityError:
        # Somebody else made one at the same moment.
        raise DemoIsThere(_("There is a demo on this desk already; remove it first.")) from None


def _numbered(number: int) -> str:
    return SLUG if number == 1 else f"{SLUG}-{number}"


def _reviewer(project: Project, name: str) -> User:
    """One of the demo's people: nobody who could log in or be written to."""
    names = (name if number == 1 else f"{name}-{number}" for number in count(1))
    free = next(one for one in names if not User.objects.filter(username=one).exists())
    user = User(username=free, is_active=False)
    user.set_unusable_password()
    user.save(force_insert=True)
    Profile.objects.create(user=user, wants_mail=False)
    Membership.objects.create(project=project, user=user, role=Role.CURATOR)
    return user


def tell(project: Project, *, people: Mapping[str, User], now: datetime, most: int | None = None) -> None:
    """Writes the month into the project, and works out what is read from sums."""
    tales, chance = recorded(), Random(SEED)  # noqa: S311 - the same demo each time
    planned = planned_month(tales, now=now, chance=chance, most=most)
    learned = _learned(tales, planned, now=now)
    # In the order in which they were recorded: the two of a conflict are kept in the order of their ids.
    in_order = [name for name in _names_in_order(tales[NOTEBOOK]) if name in learned]
    entries = {name: _entry_id(project.pk, number) for number, name in enumerate(in_order)}
    numbers = {name: user.pk for name, user in people.items()}
    rows: dict[str, list[str]] = defaultdict(list)
    columns: dict[str, tuple[str, ...]] = {}
    tellings = [
        Telling(
            one.tale,
            project.pk,
            number,
            one.begins,
            one.models,
            numbers,
            entries,
            Random(f"{SEED}/{number}"),  # noqa: S311
            until=one.until,
        )
        for number, one in enumerate(planned, 1)
    ]
    tellings.append(_of_notebook(tales[NOTEBOOK], project, numbers, entries, learned, now=now))
    for telling in tellings:
        for table, kept, told in telling.rows():
            columns[table] = kept.columns
            rows[table] += told
    renamed = {name: user.get_username() for name, user in people.items() if name != user.get_username()}
    for taken in TABLES:
        if taken.name in rows:
            written = rows[taken.name]
            if taken.name == EVIDENCE and taken.mended is not None:
                # What it is known by is made of ids, which are others each time.
                written = [json.dumps(taken.mended(json.loads(row)), ensure_ascii=False) for row in written]
            _write(taken.name, taken.model, columns[taken.name], written, renamed=renamed)
    _settle(project)


def _write(
    name: str, model: type[models.Model], columns: tuple[str, ...], rows: list[str], *, renamed: Mapping[str, str]
) -> None:
    fields = model._meta.concrete_fields  # noqa: SLF001 - Django's documented API
    # What a later version of the desk keeps besides.
    missing = {
        one.attname: _default(one)
        for one in fields
        if one.attname not in columns and not isinstance(one, models.AutoField)
    }
    more = f", {json.dumps(missing, default=str)[1:]}" if missing else "}"
    quoted = connection.ops.quote_name
    into = quoted(model._meta.db_table)  # noqa: SLF001 - the same
    listed = ", ".join(quoted(one) for one in (*columns, *missing))
    once = "ON CONFLICT DO NOTHING" if name in ONCE else ""
    statement = (
        f"INSERT INTO {into} ({listed}) SELECT {listed} "  # noqa: S608 - names of our own tables
        f"FROM jsonb_populate_recordset(NULL::{into}, %s::jsonb) {once}"
    )
    with connection.cursor() as cursor:
        for some in batched(rows, ROWS_AT_ONCE):
            text = f"[{','.join(row[:-1] + more for row in some)}]"
            for former, present in renamed.items():
                text = text.replace(former, present)
            cursor.execute(statement, [text])


def _default(column: "models.Field[Any, Any]") -> Any:
    if column.has_default():
        return column.get_default()
    return None if column.null else ""


# The notebook: one for all tales, each entry at the time at which it was learned.


def _learned(
    tales: Mapping[str, Tale], planned: list[Planned], *, now: datetime
) -> dict[str, tuple[datetime, datetime]]:
    """When each entry was proposed, and decided on; entries that no tale of this month proposed are left out."""
    life = tales[NOTEBOOK].facts["life"]
    known = {
        name: (now - timedelta(days=one["days"]), now - timedelta(days=one["days"] - one["after"]))
        for name, one in life.items()
    }
    slots = {name: _entries_of(tale) for name, tale in tales.items() if name != NOTEBOOK}
    for name, at in first_told(planned, slots).items():
        known.setdefault(name, (at, at))
    return known


def _entries_of(tale: Tale) -> frozenset[str]:
    table = tale.tables.get("notebook_evidence")
    return frozenset(piece[1:] for row in (table.rows if table else ()) for piece in row[1::2] if piece[0] == "e")


def _of_notebook(
    tale: Tale,
    project: Project,
    people: Mapping[str, int],
    entries: Mapping[str, UUID],
    learned: Mapping[str, tuple[datetime, datetime]],
    *,
    now: datetime,
) -> Telling:
    """The notebook's own tale, without the entries that nobody learned. What was decided came after all proposals."""
    tables = {}
    moments = [
        now - timedelta(days=2, minutes=len(tale.facts["times"]) - n) for n, _at in enumerate(tale.facts["times"])
    ]
    first_deed = _first_deed(tale)
    for name, table in tale.tables.items():
        kept = []
        for row in table.rows:
            named = [piece[1:] for piece in row[1::2] if piece[0] == "e"]
            if not all(one in entries for one in named):
                continue
            kept.append(row)
            if name != "notebook_conflicts" and named:
                proposed, decided = learned[named[0]]
                for piece in row[1::2]:
                    if piece[0] == "t":
                        number = int(piece[1:])
                        moments[number] = decided if number >= first_deed else proposed
        tables[name] = type(table)(table.columns, tuple(kept))
    chance = Random(SEED)  # noqa: S311
    return Telling(
        Tale(tale.name, tables, tale.facts), project.pk, 0, now, {"actor": ""}, people, entries, chance, moments=moments
    )


def _first_deed(tale: Tale) -> int:
    """The first moment of the recording at which a curator did something."""
    found = []
    for row in tale.tables["notebook_versions"].rows:
        if '"number": 1' not in "".join(row[::2]):
            found += [int(piece[1:]) for piece in row[1::2] if piece[0] == "t"]
    return min(found)


def _names_in_order(tale: Tale) -> list[str]:
    rows = tale.tables["notebook_entries"].rows
    return [next(piece[1:] for piece in row[1::2] if piece[0] == "e") for row in rows]


def _entry_id(project_id: UUID, number: int) -> UUID:
    chance = int.from_bytes(hashlib.blake2b(b"%d" % number, key=project_id.bytes, digest_size=8).digest()) >> 2
    return UUID(int=((int(EPOCH.timestamp() * 1000) + number) << 80) | (7 << 76) | (2 << 62) | chance)


# What is worked out from the rows.


def _settle(project: Project) -> None:
    recount(project.pk)
    for pair in FixPair.objects.filter(project=project):
        told = ToolFailure.objects.filter(fix_pair=pair)
        pair.successes, pair.failures = told.filter(worked=True).count(), told.filter(worked=False).count()
        pair.last_worked_at = told.filter(worked=True).aggregate(last=Max("outcome_at"))["last"]
        pair.save(update_fields=["successes", "failures", "last_worked_at"])
    rebuild(project)
    FigureDue.objects.filter(run_id__in=Run.objects.filter(project=project).values("pk")).delete()


# What the demo's people say to whoever loaded it: one asks for a look, and mentions them in a comment.

ASKED_ABOUT, MENTIONED_AT = "demo-release-note", "demo-refund-reply"


def talk_to(project: Project, user: User, *, reviewer: User) -> None:
    """Has the reviewer ask the user for a look at an attempt, and mention them in a comment."""
    actor = Actor(user=reviewer)
    if run := _run_of(project, ASKED_ABOUT):
        note = "升级步骤对吗？请在发布前看一眼。 (Are the upgrade steps right? Please look before we publish.)"
        ask_for_review(run, AskInput(note=note, assignee=user.get_username()), actor=actor)
    waiting = Review.objects.filter(project=project, state=ReviewState.WAITING, run=_run_of(project, MENTIONED_AT))
    if review := waiting.first():
        text = f"@{user.get_username()} Our policy lets the customer choose. Does this reply leave her the choice?"
        add_comment(project, About.REVIEW, review.pk, CommentInput(text=text), actor=actor)


def _run_of(project: Project, script: str) -> Run | None:
    return Run.objects.filter(project=project, spec__models__default=f"scripted/{script}").first()
