import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from django.conf import settings
from django.db import connection, transaction
from django.test import Client, TransactionTestCase, override_settings
from hypothesis import HealthCheck
from hypothesis import settings as of_hypothesis
from pytest_django import DjangoDbBlocker

from reflection_app.config.static_files import collect_static
from tests.committing import committing
from tests.databases import copy_database, migrated_template
from tests.emptying import empty_databases
from tests.pages_as_read import _read_pages

# Models are imported where they are needed: this file is read before Django is set up.
if TYPE_CHECKING:
    from reflection_app.core.models import Project
    from tests.api.caller import Caller

__all__ = ["_read_pages", "committing"]

# On a busy machine an example takes as long as it takes.
ON_ANY_MACHINE = of_hypothesis(deadline=None, suppress_health_check=[HealthCheck.too_slow])
of_hypothesis.register_profile("any machine", ON_ANY_MACHINE)
of_hypothesis.load_profile("any machine")

if os.environ.get("DESK_TESTS_OWN_POSTGRES"):

    @pytest.fixture(scope="session")
    def django_db_setup(django_db_blocker: DjangoDbBlocker, migrated: str) -> None:
        """In place of pytest-django's, which would bring a database of each process through all migrations."""
        with django_db_blocker.unblock():
            connection.settings_dict["NAME"] = f"test_{os.getpid()}"
            copy_database(migrated, connection.settings_dict["NAME"])


@pytest.fixture(scope="session")
def migrated(django_db_blocker: DjangoDbBlocker) -> str:
    """The name of a database that went through all migrations: a template, which nobody uses and all copy."""
    with django_db_blocker.unblock():
        return migrated_template()


@pytest.fixture(autouse=True, scope="session")
def _quick_emptying() -> None:
    """A database of one's own may refuse it to a user who is no superuser, and is flushed as ever."""
    if os.environ.get("DESK_TESTS_OWN_POSTGRES"):
        TransactionTestCase._fixture_teardown = empty_databases  # type: ignore[attr-defined]


@pytest.fixture(autouse=True, scope="session")
def _quick_passwords() -> None:
    """A password's hash is slow on purpose, and hundreds of tests make a user."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher", *settings.PASSWORD_HASHERS]


COLLECTED = settings.STORAGES


@pytest.fixture(autouse=True, scope="session")
def _static_files_as_they_are() -> None:
    """Nothing is collected for a test client, and none lists all files, as each would with the middleware it makes."""
    settings.WHITENOISE_AUTOREFRESH = settings.WHITENOISE_USE_FINDERS = True
    settings.STORAGES = COLLECTED | {
        "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    }


@pytest.fixture(scope="session")
def collected() -> None:
    """What a web server in a process of its own serves, as `manage.py up` would have collected it."""
    with override_settings(STORAGES=COLLECTED):
        collect_static()


@pytest.fixture(scope="module")
def module_transaction(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """A transaction around the tests of a module: what its module fixtures write is there for each test of it.

    Each test goes back to that. Only for tests that are rolled back themselves, with `django_db` or `db`.
    """
    with django_db_blocker.unblock(), transaction.atomic():
        yield
        transaction.set_rollback(True)


@pytest.fixture
def project(db: None) -> "Project":
    """A project with the slug `desk` that samples no audits."""
    from tests import given

    return given.project("desk", review_policy={"audit_share": 0})


@pytest.fixture
def reviewer(client: Client, project: "Project") -> Client:
    """The client, logged in as a reviewer of `project`."""
    from reflection_app.core.models import Role
    from tests import given

    return given.logged_in(client, project, Role.REVIEWER)


@pytest.fixture
def admin(db: None) -> "Caller":
    """A client of REST whose key may do everything in a project of its own."""
    from reflection_app.core.models import Scope
    from tests import given

    return given.caller(scopes=[Scope.ADMIN])


@pytest.fixture
def caller(db: None) -> "Caller":
    """A pipeline: a client of REST with a key of a project of its own, which may do all that keys may."""
    from tests import given

    return given.caller()
