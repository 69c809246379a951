"""The audit trail: every change of state is in it, and nobody can alter or remove what is."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from django.conf import settings
from django.db import InternalError, connection, transaction
from django.db.utils import DatabaseError

from reflection_app.core.audit import Actor, AuditEntry, audit
from reflection_app.core.models import Project
from reflection_app.teams.pages.audit import LISTS, PAGES, TARGETS, WORDS
from tests import given

DESK = Path(settings.BASE_DIR) / "reflection_app"
SUBJECTS = ("core", "tasks", "runs", "reviews", "repairs", "sessions", "metrics", "teams", "notebook")
# What shows or describes, and does nothing.
ROOMS = {"models", "answers", "api", "pages", "views", "otlp"}
# They take an actor and write no entry of their own.
WITHOUT_ENTRIES = {
    "core/audit.py": "is the trail",
    "notebook/ending.py": "changes an owner, which curating.py records",
    "repairs/completeness.py": "begins a task, which tasks/submitting.py records",
    "reviews/queue.py": "reads",
    "reviews/editing.py": "part of a decision, which deciding.py records",
    "teams/demo/removing.py": "deletes a project, which teams/projects.py records",
    "reviews/decisions.py": "part of a decision, which deciding.py or panels.py records",
    "reviews/undo.py": "part of taking a decision back, which deciding.py records",
    "teams/notifications.py": "what one has read is nobody else's business",
}
# Write to the trail themselves, or have what was changed of an entry written by notebook_trail.
WRITERS = {"audit", "note"}
NAME = re.compile(r"[a-z_]+\.[a-z_]+")


def kept(project: Project) -> AuditEntry:
    audit(project.pk, Actor(user=given.member(project)), "settings.changed", target=project, after={"a": 1})
    return AuditEntry.objects.get(project=project)


@pytest.mark.django_db
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE reflection_app_auditentry SET after = '{}'",
        "DELETE FROM reflection_app_auditentry",
        "TRUNCATE reflection_app_auditentry",
        "MERGE INTO reflection_app_auditentry a USING reflection_app_project p ON TRUE WHEN MATCHED THEN DELETE",
    ],
)
def test_the_database_refuses_to_change_or_remove_an_entry(statement: str) -> None:
    entry = kept(given.project())
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)
    assert AuditEntry.objects.get() == entry
    assert AuditEntry.objects.get().after == {"a": 1}


@pytest.mark.django_db
def test_neither_do_models_change_or_remove_it() -> None:
    entry = kept(given.project())
    entry.action = "nothing.happened"
    for attempt in (entry.save, entry.delete, AuditEntry.objects.all().delete):
        with pytest.raises((DatabaseError, InternalError), match="append-only"), transaction.atomic():
            attempt()
    assert AuditEntry.objects.get().action == "settings.changed"


@pytest.mark.django_db
def test_a_person_or_a_project_can_go_and_the_trail_stays_readable() -> None:
    project = given.project()
    entry = kept(project)
    user_id, project_id = entry.user_id, project.pk
    assert entry.user is not None
    entry.user.delete()
    project.delete()
    left = AuditEntry.objects.get()
    assert (left.user_id, left.project_id, left.actor_label) == (user_id, project_id, entry.actor_label)
    assert (left.action, left.after) == ("settings.changed", {"a": 1})


def test_every_audit_names_its_action_where_it_can_be_found_and_has_words() -> None:
    for module in modules():
        for call in audits_of(module):
            named = set(names_of(call, module))
            assert named, f"{module.name}:{call.lineno}"
            assert named <= WORDS.keys(), f"without words: {named - WORDS.keys()}"


def test_every_module_that_acts_for_somebody_writes_to_the_trail() -> None:
    silent = {str(module.relative_to(DESK)) for module in modules() if takes_actor(module) and not audits_of(module)}
    assert silent == WITHOUT_ENTRIES.keys()


def test_every_kind_of_thing_that_is_linked_has_words() -> None:
    assert PAGES.keys() | LISTS.keys() <= TARGETS.keys()


@cache
def modules() -> list[Path]:
    return sorted(
        module
        for subject in SUBJECTS
        for module in (DESK / subject).rglob("*.py")
        if not ROOMS & {module.stem, *module.relative_to(DESK).parts}
    )


@cache
def tree_of(module: Path) -> ast.Module:
    return ast.parse(module.read_text())


@cache
def audits_of(module: Path) -> list[ast.Call]:
    return [
        node
        for node in ast.walk(tree_of(module))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in WRITERS
    ]


def names_of(call: ast.Call, module: Path) -> Iterator[str]:
    """The actions that a call may record: those in its third argument, or in the module where that is a variable."""
    assert isinstance(call.func, ast.Name)
    action = call.args[2 if call.func.id == "audit" else 1]
    for node in ast.walk(tree_of(module) if isinstance(action, ast.Name) else action):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and NAME.fullmatch(node.value):
            yield node.value


def takes_actor(module: Path) -> bool:
    """Whether a public function of it acts for somebody."""
    return any(
        isinstance(node, ast.FunctionDef)
        and not node.name.startswith("_")
        and any(argument.arg == "actor" for argument in (*node.args.args, *node.args.kwonlyargs))
        for node in tree_of(module).body
    )
