"""One desk for all tests of this folder: its own database on the session's PostgreSQL, the rest of its own."""

import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import pytest

from tests.databases import copy_database, drop_database
from tests.end_to_end.desk import Desk, running_desk
from tests.end_to_end.playback import Playback
from tests.openai_server import OpenAIServer

# Short enough that a death is noticed within seconds, and long enough that a busy machine is not taken for one.
IMPATIENT = {
    "RUN_LEASE_S": "5",
    "SWEEP_INTERVAL_S": "0.5",
    "ENQUEUE_LOST_AFTER_S": "2",
    "RUN_RETRY_DELAY_S": "0.2",
    # Bounds the patience with a broken provider; an answer played back takes milliseconds.
    "LLM_TIMEOUT_S": "5",
    # The receivers of webhooks are servers on loopback.
    "OUTGOING_ALLOWED_NETWORKS": "127.0.0.1/32",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.exhaustive("starts a whole desk"))


@pytest.fixture(scope="session")
def playback() -> Playback:
    return Playback()


@pytest.fixture(scope="session")
def models(playback: Playback) -> Iterator[OpenAIServer]:
    with OpenAIServer(playback) as server:
        yield server


@pytest.fixture(scope="session")
def own_database(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a new database without rows, which goes at the end."""
    url = os.environ["DATABASE_URL"]
    name = f"end_to_end_{os.getpid()}"
    own_postgres = os.environ.get("DESK_TESTS_OWN_POSTGRES")
    copy_database(request.getfixturevalue("migrated") if own_postgres else "template1", name)
    yield urlunsplit(urlsplit(url)._replace(path=f"/{name}"))
    drop_database(name)


@pytest.fixture(scope="session")
def desk(models: OpenAIServer, own_database: str) -> Iterator[Desk]:
    """A running desk whose models are `models`."""
    provider = {"LLM_MODEL": "openai/playback", "OPENAI_API_BASE": models.url, "OPENAI_API_KEY": "sk-not-a-real-key"}
    data = Path(os.environ["REFLECTION_DATA_DIR"]) / "end-to-end"
    with running_desk(data, provider | IMPATIENT | {"DATABASE_URL": own_database}) as running:
        yield running
