"""Whether a run's page is open: marked by the page, asked by the worker, and without a broker a plain no."""

import logging
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from pytest_django.fixtures import Settings

from reflection_app.adapters import live
from reflection_app.adapters.live import ASK_WITHIN_S, Watch, bell, is_watched, mark_watched
from reflection_app.adapters.llm import gateway
from reflection_app.adapters.llm.provider import Streams
from reflection_app.core.models import Project
from reflection_app.runs.advance import advance
from reflection_app.runs.models import Run
from tests import given
from tests.openai_server import OpenAIServer, Reply
from tests.pace import PATIENCE_S
from tests.runs.test_run_socket import connected, in_thread, member_of, play

pytestmark = pytest.mark.django_db(transaction=True)
SOON_S = PATIENCE_S
MODEL = "openai/watched-model"


def wait_until(met: Callable[[], bool]) -> None:
    """Returns once `met` is true; it has ten seconds."""
    deadline = time.monotonic() + SOON_S
    while not met():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def wait_until_watched(run_id: UUID) -> None:
    wait_until(lambda: is_watched(run_id))


@pytest.fixture
def project() -> Project:
    return given.project("watched", models_by_role={"default": MODEL})


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    """A provider that gives three words and then grades them, as a critic whose form nobody can read."""
    monkeypatch.setattr(gateway, "_streams", Streams())
    monkeypatch.setenv("OPENAI_API_KEY", "test-key")
    with OpenAIServer(lambda _: Reply("one two three")) as server:
        monkeypatch.setenv("OPENAI_API_BASE", server.url)
        yield server


@pytest.fixture
def watch_without_broker(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Watch]:
    """Has pages and workers use a broker at an address where none answers."""

    def at(address: str) -> Watch:
        layer = settings.CHANNEL_LAYERS["default"]
        settings.CHANNEL_LAYERS = {"default": layer | {"CONFIG": layer["CONFIG"] | {"hosts": [address]}}}
        lonely = Watch(bell)
        monkeypatch.setattr(live, "watch", lonely)
        return lonely

    return at


def streamed(server: OpenAIServer) -> int:
    return sum(bool(request.body.get("stream")) for request in server.requests)


def test_an_open_page_marks_its_run_and_no_other(project: Project) -> None:
    run, other = given.submitted_run(project, mode="actor_critic"), given.submitted_run(project, mode="actor_critic")
    client = member_of(project)

    async def scene() -> None:
        assert not is_watched(run.pk)
        async with connected(run, client) as page:
            await page.hear()
            await in_thread(wait_until_watched)(run.pk)
        assert not is_watched(other.pk)

    play(scene)


def test_a_mark_runs_out() -> None:
    run_id = uuid4()
    mark_watched(run_id, for_s=0.4)
    wait_until_watched(run_id)
    wait_until(lambda: not is_watched(run_id))


def test_a_worker_streams_only_what_is_watched(project: Project, server: OpenAIServer) -> None:
    unseen, seen = (given.submitted_run(project, mode="actor_critic", limits={"max_iterations": 1}) for _ in range(2))
    advance(unseen.pk)
    assert server.requests
    assert streamed(server) == 0

    mark_watched(seen.pk, for_s=60)
    wait_until_watched(seen.pk)
    advance(seen.pk)
    # The attempt; the critic's form is not for reading.
    assert streamed(server) == 1


def test_a_worker_streams_where_somebody_has_a_page_of_the_project_open(project: Project, server: OpenAIServer) -> None:
    run = given.submitted_run(project, mode="actor_critic", limits={"max_iterations": 1})
    mark_watched(project.pk, for_s=60)
    wait_until_watched(project.pk)
    advance(run.pk)
    assert streamed(server) == 1


def test_without_a_broker_answers_come_whole(
    project: Project,
    server: OpenAIServer,
    watch_without_broker: Callable[[str], Watch],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    run = given.submitted_run(project, mode="actor_critic", limits={"max_iterations": 2})
    lonely = watch_without_broker(f"unix://{tmp_path}/none.sock")
    with caplog.at_level(logging.WARNING, logger=live.__name__):
        for _ in range(3):
            lonely.mark(run.pk, for_s=60)
        advance(run.pk)
        wait_until(lambda: bool(caplog.records))
        assert not is_watched(run.pk)
    assert Run.objects.get(pk=run.pk).attempts_made >= 1
    assert streamed(server) == 0
    assert lonely.is_out
    assert len([one for one in caplog.records if "text is not shown while" in one.message]) == 1


def test_a_broker_that_hangs_is_asked_briefly_and_then_not_for_a_while(
    watch_without_broker: Callable[[str], Watch], tmp_path: Path
) -> None:
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(tmp_path / "silent.sock"))
        silent.listen()
        lonely = watch_without_broker(f"unix://{tmp_path}/silent.sock")
        began = time.monotonic()
        assert not lonely.is_watched(uuid4())
        first_s = time.monotonic() - began
        for _ in range(100):
            assert not lonely.is_watched(uuid4())
        others_s = time.monotonic() - began - first_s
    assert ASK_WITHIN_S <= first_s < 20 * ASK_WITHIN_S
    # Where each of them asked, it would be a hundred times that.
    assert others_s < 20 * ASK_WITHIN_S
