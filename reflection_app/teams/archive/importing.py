"""A new project from a file: in one transaction, so that a file that is refused anywhere leaves nothing behind."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import batched
from pathlib import Path
from typing import IO, Any
from uuid import UUID

from django.contrib.auth.models import User
from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError as InvalidSlug
from django.core.validators import validate_slug
from django.db import DatabaseError, connection, models, transaction
from django.db.models import F, Func, OuterRef, Subquery
from pydantic import ValidationError

from notebook_app.public import Row, TakenTable
from reflection_app.comparisons.models import Pair, PairJudgement
from reflection_app.core.audit import Actor, audit, hand_of
from reflection_app.core.errors import shortened
from reflection_app.core.migrations import unknown_migrations
from reflection_app.core.models import Membership, Project, Role
from reflection_app.loops.completeness.sampling import read_former
from reflection_app.loops.storable import storable
from reflection_app.loops.task_spec import TaskSpec
from reflection_app.metrics.figuring import rebuild
from reflection_app.reviews.models import Review, ReviewState
from reflection_app.reviews.rows import hands_of_editors
from reflection_app.runs.models import Run, RunState
from reflection_app.runs.resuming import cancel_run
from reflection_app.tasks.models import Task
from reflection_app.teams.archive.reading import (
    MOST_BYTES,
    UNKNOWN_HAND,
    UUIDS,
    Archive,
    Identities,
    Renewal,
    cycle_in,
    opened,
    refuse,
)
from reflection_app.teams.archive.tables import OF_PROJECT, TABLES, columns_of, rows_at_once
from reflection_app.teams.archive.writing import MANIFEST

LONGEST_SLUG, LONGEST_NAME = 60, 120


@dataclass(frozen=True)
class Imported:
    """The new project, how many rows it has of each table, and what is left to do by hand."""

    project: Project
    rows: dict[str, int]
    cancelled_runs: int
    secrets_to_enter: list[str]


@dataclass(frozen=True, kw_only=True)
class Wishes:
    """`slug` is the new project's short name. `people` are the users here who are people of the file, by their names.

    Runs that a worker would go on with are cancelled unless `go_on`: else what they do would be done twice.
    """

    slug: str
    name: str = ""
    admin: str = ""
    people: Mapping[str, int] = field(default_factory=dict)
    go_on: bool = False
    most_bytes: int = MOST_BYTES


def import_project(file: Path | IO[bytes], wishes: Wishes, *, actor: Actor) -> Imported:
    """The new project. Raises InvalidInput where the file is refused; nothing is kept of it then."""
    try:
        validate_slug(wishes.slug)
    except InvalidSlug:
        raise refuse("slug", "a short name has letters, digits, - and _ only") from None
    if len(wishes.slug) > LONGEST_SLUG:
        raise refuse("slug", f"a short name has at most {LONGEST_SLUG} characters")
    if Project.objects.filter(slug=wishes.slug).exists():
        raise refuse("slug", "there is a project of this short name already")
    if wishes.admin and not User.objects.filter(username=wishes.admin).exists():
        raise refuse("admin", "there is no user of this name")
    with opened(file, most_bytes=wishes.most_bytes) as archive, transaction.atomic():
        manifest = archive.manifest()
        found = manifest.get("migrations")
        if not isinstance(found, list) or any(not isinstance(one, str) for one in found):
            raise refuse(f"{MANIFEST}, migrations", "it is no list of names")
        if newer := unknown_migrations(found):
            raise refuse(
                f"{MANIFEST}, migrations", f"the file is of a newer desk: {shortened(newer[0], 100)} is unknown"
            )
        project = _project(manifest, wishes)
        identities = _identities(archive, manifest, project)
        renewal = Renewal(project, identities, wishes.people)
        rows = {table.name: _write(archive, table, renewal) for table in TABLES}
        _analyze()
        try:
            with connection.cursor() as cursor:
                cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
                cursor.execute("SET CONSTRAINTS ALL DEFERRED")
        except DatabaseError as error:
            raise refuse("file", f"its rows do not fit together: {str(error).splitlines()[0]}") from error
        _check_specs(project)
        if wishes.admin:
            Membership.objects.update_or_create(
                project=project, user=User.objects.get(username=wishes.admin), defaults={"role": Role.ADMIN}
            )
        runs = Run.objects.filter(project=project)
        _give_owners(runs, project=project, admin=wishes.admin)
        _know_judges_again(project)
        rebuild(project)
        cancelled = 0
        if not wishes.go_on:
            # What a worker would go on with. What waits for a person or an agent goes on waiting.
            for run in runs.filter(state__in=(RunState.QUEUED, RunState.WAITING_TIME)):
                cancel_run(run, actor=actor)
                cancelled += 1
        audit(project.pk, actor, "project.imported", target=project, after={"rows": sum(rows.values())})
    return Imported(project, rows, cancelled, _secrets(manifest))


def _analyze() -> None:
    """Give PostgreSQL statistics of the new rows before they are joined.

    Autovacuum, which does not see them yet, may just have recorded that these tables are empty. The planner then joins
    thousands of rows by nested loops, for many minutes.
    """
    names = {table.model._meta.db_table for table in TABLES}  # noqa: SLF001 - Django's documented API
    with connection.cursor() as cursor:
        cursor.execute(f"ANALYZE {', '.join(map(connection.ops.quote_name, sorted(names)))}")


def _give_owners(runs: models.QuerySet[Run], *, project: Project, admin: str) -> None:
    """Assign an owner to the runs whose submitters are unknown here, such as those of a key.

    The owner is the task's submitter, else the importing admin, else the first admin of the project.
    """
    unowned = runs.filter(handed_in_by=[UNKNOWN_HAND])
    by_task = Task.objects.filter(pk=OuterRef("task")).values(hands=HandsOf("created_by"))
    unowned.filter(task__created_by__isnull=False).update(handed_in_by=Subquery(by_task))
    admins = Membership.objects.filter(project=project, role=Role.ADMIN).order_by("pk")
    owner = (admins.filter(user__username=admin) if admin else admins).values_list("user_id", flat=True).first()
    unowned.update(handed_in_by=[] if owner is None else [hand_of(owner)])


def _know_judges_again(project: Project) -> None:
    """Notes who sits on panels and who compared answers, and whose work it is that is judged."""
    reviews = Review.objects.filter(project=project)
    by_run = Run.objects.filter(pk=OuterRef("run")).values("handed_in_by")
    reviews.update(handed_in_by=Subquery(by_run))
    for review in reviews.filter(attempt__edited_from__isnull=False).select_related("verdict__attempt__run"):
        review.handed_in_by = list(dict.fromkeys([*review.handed_in_by, *hands_of_editors(review.verdict)]))
        review.save(update_fields=["handed_in_by"])
    reviews.filter(state=ReviewState.DECIDED, panel__isnull=False).update(holder_person=F("holder"))
    PairJudgement.objects.filter(project=project, is_by_key=False).update(person=F("by"))
    hands_a, hands_b = (
        Subquery(Run.objects.filter(attempts=OuterRef(attempt)).values("handed_in_by"))
        for attempt in ("attempt_a", "attempt_b")
    )
    of_runs = Pair.objects.filter(project=project, attempt_a__isnull=False, attempt_b__isnull=False)
    of_runs.update(handed_in_by=Func(hands_a, hands_b, function="array_cat"))


class HandsOf(Func):
    """The user's `hand_of` alone, in PostgreSQL's words."""

    template = "ARRAY['user:' || %(expressions)s]"
    output_field = ArrayField(models.CharField())


def _project(manifest: dict[str, Any], wishes: Wishes) -> Project:
    given = manifest.get("project")
    if not isinstance(given, dict):
        raise refuse(f"{MANIFEST}, project", "it is no object")
    name = wishes.name or given.get("name")
    if not isinstance(name, str) or not name.strip() or len(name) > LONGEST_NAME:
        raise refuse(f"{MANIFEST}, project.name", f"a name has 1 to {LONGEST_NAME} characters")
    settings = {key: given[key] for key in OF_PROJECT if key in given}
    if isinstance(notebook := settings.get("notebook"), dict):
        # A setting of former versions.
        settings["notebook"] = {name: value for name, value in notebook.items() if name != "keeps_labels"}
    if isinstance(check := settings.get("completeness"), dict):
        settings["completeness"] = read_former(check | {"holdout_share": 0.0})
    project = Project(slug=wishes.slug, name=storable(name), **settings)
    try:
        for read in (
            project.get_limits,
            project.get_thresholds,
            project.get_completeness,
            project.get_notebook,
            project.get_retention,
            project.get_waiting,
            project.get_review_policy,
        ):
            read()
        project.full_clean(exclude=["slug"], validate_unique=False)
    except (ValidationError, InvalidSlug, TypeError, AttributeError) as error:
        raise refuse(f"{MANIFEST}, project", f"its settings cannot be used: {error}") from None
    project.save(force_insert=True)
    return project


def _identities(archive: Archive, manifest: dict[str, Any], project: Project) -> Identities:
    """All ids of the file. Raises InvalidInput where one comes twice, or rows of a table lead back to themselves."""
    identities = Identities(project.pk, former=_id(manifest["project"].get("id"), where=f"{MANIFEST}, project.id"))
    for table in TABLES:
        columns = table.model._meta  # noqa: SLF001 - Django's documented API
        if isinstance(columns.pk, models.UUIDField):
            to_itself = [one.attname for one in columns.concrete_fields if one.related_model is table.model]
            parents: dict[str, dict[UUID, UUID]] = {name: {} for name in to_itself}
            for number, row in archive.lines(table.name):
                where = f"{table.name}.jsonl, line {number}"
                old = _id(row.get("id"), where=f"{where}, id")
                if not identities.add(table.name, old):
                    raise refuse(f"{where}, id", "another row of the file has the same")
                for name in to_itself:
                    if row.get(name) is not None:
                        parents[name][old] = _id(row[name], where=f"{where}, {name}")
            for name, found in parents.items():
                if (looped := cycle_in(found)) is not None:
                    raise refuse(f"{table.name}.jsonl, {name}", f"rows lead back to themselves, such as {looped}")
    return identities


def _id(value: Any, *, where: str) -> UUID:
    if not isinstance(value, str) or not UUIDS.fullmatch(value):
        raise refuse(where, "it is no id")
    return UUID(value)


def _write(archive: Archive, table: TakenTable, renewal: Renewal) -> int:
    """Straight into the table: the times at which rows were made are theirs, and no row is made of a class first."""
    many, last = 0, 0
    quoted = connection.ops.quote_name
    name = quoted(table.model._meta.db_table)  # noqa: SLF001 - Django's documented API
    try:
        for piece in batched(_new_rows(archive, table, renewal), rows_at_once(table)):
            last = piece[-1][0]
            columns = ", ".join(quoted(column) for column in piece[0][1])
            source = f"jsonb_populate_recordset(NULL::{name}, %s::jsonb)"
            statement = f"INSERT INTO {name} ({columns}) SELECT {columns} FROM {source}"  # noqa: S608 - names of our own tables
            with connection.cursor() as cursor:
                cursor.execute(statement, [json.dumps([row for _number, row in piece], default=str)])
            many += len(piece)
    except DatabaseError as error:
        lines = f"{table.name}.jsonl, before line {last + 1}"
        raise refuse(lines, f"a row cannot be stored: {str(error).splitlines()[0]}") from error
    return many


def _new_rows(archive: Archive, table: TakenTable, renewal: Renewal) -> Iterator[tuple[int, Row]]:
    # No generator expression: it would keep the open file in its frame, and with it in the traceback of a refusal.
    columns = columns_of(table)
    for number, given in archive.lines(table.name):
        row = renewal.row(table, columns, given, where=f"{table.name}.jsonl, line {number}")
        if row is not None:
            yield number, row


def _check_specs(project: Project) -> None:
    """What runs are to do is read by their loops and by many pages."""
    for run_id, spec in Run.objects.filter(project=project).values_list("pk", "spec").iterator():
        try:
            TaskSpec.model_validate(spec)
        except ValidationError as error:
            raise refuse("runs.jsonl, spec", f"of run {run_id}: {error.errors()[0]['msg']}") from None


def _secrets(manifest: dict[str, Any]) -> list[str]:
    found = manifest.get("secrets_to_enter")
    named = [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
    return [f"{one.get('name')} ({one.get('origin')})" for one in named]
