"""Queries that are compiled once and run with other values."""

from typing import Any
from uuid import UUID

import pytest
from django.db.models import Q, QuerySet

from notebook_app.compiled import compiled
from notebook_app.models import Entry
from tests import given
from tests.notebook.exposed import approved_lesson

pytestmark = pytest.mark.django_db


@compiled
def named(project_id: UUID, ids: list[UUID], name: str) -> QuerySet[Entry, Any]:
    return Entry.objects.filter(Q(pk__any=ids), project_id=project_id, name=name)


@compiled
def details(project_id: UUID) -> QuerySet[Entry, Any]:
    return Entry.objects.filter(project_id=project_id).order_by("name").values_list("name", "details")


def test_each_call_has_the_rows_of_its_own_values() -> None:
    one, other = given.project(), given.project()
    first, second = approved_lesson(one.pk, "Read the tide table"), approved_lesson(other.pk, "Close the hatch")
    first.refresh_from_db()
    second.refresh_from_db()
    ids = [first.pk, second.pk]
    assert named(one.pk, ids, first.name) == [first]
    assert named.first(other.pk, ids, second.name) == second
    assert named(other.pk, ids, first.name) == named(other.pk, [], second.name) == []
    [row] = named(one.pk, [first.pk], first.name)
    columns = [field.attname for field in Entry._meta.concrete_fields]
    assert [vars(row)[name] for name in columns] == [vars(first)[name] for name in columns]
    assert details(one.pk) == [(first.name, first.details)]


def test_an_argument_that_is_no_value_of_the_statement_is_refused() -> None:
    @compiled
    def changed(name: str) -> QuerySet[Entry, Any]:
        return Entry.objects.filter(name=name.upper())

    with pytest.raises(ValueError, match="not a value of its statement"):
        changed("tide")
