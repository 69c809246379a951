"""A deleted project is out of reach at once and taken away whole, wherever the worker stops on its way."""

from uuid import UUID

import pytest
from django.apps import apps
from django.db import connection

from notebook_app.public import propose
from reflection_app.core.audit import Actor, AuditEntry
from reflection_app.core.errors import InvalidInput, NotFound
from reflection_app.core.models import Project, Role
from reflection_app.reviews.comments import CommentInput, add_comment
from reflection_app.reviews.models import About
from reflection_app.runs.events import EventType
from reflection_app.runs.models import Run, RunState
from reflection_app.teams.models import Webhook
from reflection_app.teams.retention import delete_project, deleted_projects, take_project_away
from reflection_app.teams.tools import add_builtin_tools
from tests import given

pytestmark = pytest.mark.django_db


def full_project(slug: str) -> Project:
    """A project with something in many tables, a run that waits for a person and one that nobody has begun."""
    project = given.unsure_project(slug)
    member = given.member(project, Role.ADMIN)
    run = given.advanced_run(project)
    given.submitted_run(project)
    add_comment(project, About.RUN, run.pk, CommentInput(text="Hm."), actor=Actor(user=member))
    add_builtin_tools(project, actor=Actor(user=member))
    given.api_key(project)
    Webhook.objects.create(project=project, url="https://example.com/", events=[EventType.RUN_FINISHED], ciphertext="x")
    propose(project.pk, kind="lesson", name="A lesson", content="Look first.", source=slug)
    return project


def rows_of(project_id: UUID) -> dict[str, int]:
    """How many rows of each table name the project, the trail apart."""
    found = {}
    with connection.cursor() as cursor:
        for model in apps.get_models():
            columns = {field.column for field in model._meta.concrete_fields}
            if "project_id" in columns and model is not AuditEntry:
                cursor.execute(f'SELECT count(*) FROM "{model._meta.db_table}" WHERE project_id = %s', [project_id])
                found[model.__name__] = cursor.fetchone()[0]
    return {name: many for name, many in found.items() if many}


def test_it_is_taken_away_whole_and_the_trail_and_other_projects_stay() -> None:
    project, other = full_project("goner"), full_project("stayer")
    before = rows_of(other.pk)
    assert {"Run", "Task", "Review", "Comment", "Tool", "Entry", "ApiKey", "Webhook", "Event"} <= before.keys()
    trail = AuditEntry.objects.filter(project=project).count()
    delete_project(project, typed_name=project.name, actor=Actor())
    take_project_away(project.pk)
    assert not Project.objects.filter(pk=project.pk).exists()
    assert rows_of(project.pk) == {}
    assert rows_of(other.pk) == before
    assert before["Entry"] == 1
    told = AuditEntry.objects.filter(project_id=project.pk, action__startswith="project.").order_by("created_at")
    assert list(told.values_list("action", flat=True)) == ["project.deleted", "project.taken_away"]
    assert AuditEntry.objects.filter(project_id=project.pk).count() > trail


def test_from_the_moment_of_it_nobody_reaches_it_and_its_short_name_is_free() -> None:
    project = full_project("freed")
    key, _ = given.api_key(project)
    delete_project(project, typed_name=" Freed ", actor=Actor())
    key.refresh_from_db()
    assert not key.is_usable
    assert not Webhook.objects.get(project=project).is_enabled
    given.project("freed")
    [entry] = AuditEntry.objects.filter(action="project.deleted")
    assert entry.before == {"slug": "freed", "name": "Freed"}
    with pytest.raises(NotFound):
        delete_project(project, typed_name="Freed", actor=Actor())


@pytest.mark.parametrize("typed", ["", "freed", "Fred"])
def test_another_name_deletes_nothing(typed: str) -> None:
    project = given.project("freed")
    with pytest.raises(InvalidInput) as refused:
        delete_project(project, typed_name=typed, actor=Actor())
    assert refused.value.errors[0]["field"] == "typed_name"
    assert deleted_projects() == []


def test_a_worker_that_stops_half_way_is_followed_by_another() -> None:
    project = full_project("halfway")
    delete_project(project, typed_name=project.name, actor=Actor())
    take_project_away(project.pk, longest_s=0)
    assert deleted_projects() == [project.pk]
    assert Run.objects.filter(project=project).exists()
    take_project_away(project.pk)
    take_project_away(project.pk)
    assert deleted_projects() == []
    assert AuditEntry.objects.filter(project_id=project.pk, action="project.taken_away").count() == 1


def test_a_project_that_nobody_deleted_is_not_taken_away() -> None:
    project = full_project("kept")
    take_project_away(project.pk)
    assert Run.objects.filter(project=project).exclude(state=RunState.FINISHED).count() == 2
