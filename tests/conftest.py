import os

import pytest
from django.conf import settings
from django.test import TransactionTestCase

from tests.emptying import empty_databases


@pytest.fixture(scope="session")
def django_db_keepdb(request: pytest.FixtureRequest) -> bool:
    """Whether test databases stay: those of the session's own PostgreSQL go with it, without waiting for clients."""
    return bool(os.environ.get("DESK_TESTS_OWN_POSTGRES")) or bool(request.config.getvalue("reuse_db"))


@pytest.fixture(autouse=True, scope="session")
def _quick_emptying() -> None:
    """A database of one's own may refuse it to a user who is no superuser, and is flushed as ever."""
    if os.environ.get("DESK_TESTS_OWN_POSTGRES"):
        TransactionTestCase._fixture_teardown = empty_databases  # type: ignore[attr-defined]


@pytest.fixture(autouse=True, scope="session")
def _quick_passwords() -> None:
    """A password's hash is slow on purpose, and hundreds of tests make a user."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher", *settings.PASSWORD_HASHERS]


@pytest.fixture(autouse=True, scope="session")
def _quick_clients() -> None:
    """Each test client makes the middleware anew, and would have it list all static files each time."""
    settings.WHITENOISE_AUTOREFRESH = True
