from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from reflection_app.core.audit import Actor, AuditEntry
from reflection_app.core.models import ApiKey, digest_of
from reflection_app.teams.projects import create_api_key
from tests import given
from tests.api.caller import Caller

pytestmark = pytest.mark.django_db


def create(*arguments: str, **options: Any) -> tuple[str, str]:
    """What the command wrote to standard output and to standard error."""
    out, err = StringIO(), StringIO()
    call_command("create_api_key", *arguments, stdout=out, stderr=err, **options)
    return out.getvalue(), err.getvalue()


def test_the_key_alone_is_printed_and_works() -> None:
    project = given.project("desk")
    out, err = create("pipeline", project="desk")

    secret = out.removesuffix("\n")
    assert secret.startswith("rd_")
    assert secret.split() == [secret]
    assert secret not in err
    key = ApiKey.objects.get()
    assert (key.project, key.name, key.digest, key.expires_at) == (project, "pipeline", digest_of(secret), None)
    assert set(key.scopes) == {"tasks:write", "runs:read"}
    assert Caller(project, key, secret).get("tasks").status == 200
    assert AuditEntry.objects.get().action == "api_key.created"


def test_scopes_and_an_end_can_be_given() -> None:
    given.project("desk")
    create("reader", "--project", "desk", "--scopes", "runs:read, metrics:read", "--expires-days", "30")
    key = ApiKey.objects.get()
    assert key.scopes == ["metrics:read", "runs:read"]
    assert key.expires_at is not None
    assert timedelta(days=29) < key.expires_at - timezone.now() <= timedelta(days=30)


def test_an_unknown_project_is_refused_with_those_that_exist() -> None:
    given.project("one")
    given.project("two")
    with pytest.raises(CommandError, match=r"'three'.*one, two"):
        create("pipeline", project="three")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--scopes", "everything"], "everything"),
        (["--scopes", " , "], "at least one scope"),
        (["--expires-days", "999999999"], "from 1 to"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: list[str], message: str) -> None:
    given.project("desk")
    with pytest.raises(CommandError, match=message):
        create("pipeline", "--project", "desk", *options)
    assert not ApiKey.objects.exists()


def test_a_second_key_of_the_same_name_is_numbered_so_that_nobody_is_taken_for_the_other() -> None:
    project = given.project()
    names = [create_api_key(project, name=" ci ", scopes=["runs:read"], actor=Actor())[0].name for _ in range(3)]
    assert names == ["ci", "ci 2", "ci 3"]
    long = [create_api_key(project, name="x" * 120, scopes=["runs:read"], actor=Actor())[0].name for _ in range(2)]
    assert long == ["x" * 120, "x" * 114 + " 2"]
