import os

import pytest


@pytest.fixture(scope="session")
def django_db_keepdb(request: pytest.FixtureRequest) -> bool:
    """Whether test databases stay: those of the session's own PostgreSQL go with it, without waiting for clients."""
    return bool(os.environ.get("DESK_TESTS_OWN_POSTGRES")) or bool(request.config.getvalue("reuse_db"))
