"""A client that a generator made of the description, with nothing said by hand, does the main job."""

import json
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import httpx
import pytest
from django.core.wsgi import get_wsgi_application

from reflection_app.adapters.llm.scripted import register_script
from reflection_app.runs.advance import advance
from reflection_app.runs.models import Run, RunState
from tests import given
from tests.adapters.outgoing.conftest import loopback
from tests.api.caller import Caller
from tests.api.test_routes import WRITTEN
from tests.repairs.tickets import SENT_BACK

__all__ = ["loopback"]
pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.exhaustive("a generator makes a package of the whole description"),
]
# Neither is a kind of answer that the generator knows by its name.
SETTINGS = {
    "content_type_overrides": {"application/zip": "application/octet-stream", "application/jsonl": "text/plain"},
    "post_hooks": [],
}


class Made:
    """The package that was made: its operations and models by their names in the description."""

    def __init__(self, package: str) -> None:
        self.package = import_module(package)
        self.models = import_module(f"{package}.models")
        self.client: Any = None

    def connected(self, caller: Caller) -> "Made":
        self.client = import_module(f"{self.package.__name__}.client").AuthenticatedClient(
            base_url="http://testserver",
            token=caller.secret,
            raise_on_unexpected_status=True,
            httpx_args={"transport": httpx.WSGITransport(app=get_wsgi_application())},
        )
        return self

    def call(self, name: str, *ids: Any, **sent: Any) -> Any:
        """What the operation `name`, as in `tasks.submit_task`, answers, which is no refusal."""
        answer = self.ask(name, *ids, **sent)
        assert not isinstance(answer, self.models.Problem), answer.errors
        return answer

    def ask(self, name: str, *ids: Any, **sent: Any) -> Any:
        operation = import_module(f"{self.package.__name__}.api.{name}")
        return operation.sync(*ids, client=self.client, **sent)


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("client")
    (folder / "settings.json").write_text(json.dumps(SETTINGS))
    command = [sys.executable, "-m", "openapi_python_client", "generate", "--path", str(WRITTEN), "--meta", "none"]
    output = ["--output-path", str(folder / "generated_desk"), "--config", str(folder / "settings.json")]
    made = subprocess.run([*command, *output, "--fail-on-warning"], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stdout + made.stderr
    sys.path.insert(0, str(folder))
    yield "generated_desk"
    sys.path.remove(str(folder))


def advance_all() -> None:
    for run_id in Run.objects.filter(state=RunState.QUEUED).values_list("pk", flat=True):
        advance(run_id)


def scripted(caller: Caller, answers: dict[str, str]) -> None:
    caller.project.models_by_role = {"default": register_script("generated-client", answers)}
    caller.project.review_policy = {"audit_share": 0}
    caller.project.save(update_fields=["models_by_role", "review_policy"])


def test_an_external_agent_hands_in_until_it_is_let_through(package: str) -> None:
    caller = given.caller()
    scripted(caller, SENT_BACK)
    desk, models = (made := Made(package).connected(caller)), made.models
    submission = models.TaskSubmission(
        objective="Find five papers.",
        kind="creative_writing",
        agent="researcher",
        execution=models.Execution.EXTERNAL,
        limits=models.LimitsOverride(max_iterations=3),
    )
    task = desk.call("tasks.submit_task", body=submission, idempotency_key="one")
    advance_all()
    for content in ("three papers", "four papers", "five papers"):
        desk.call("runs.hand_in_attempt", task.run.id, body=models.AttemptInput(content=content))
        advance_all()
    run = desk.call("runs.get_run", task.run.id)
    assert (run.state, run.outcome, run.best_attempt.content) == ("finished", "succeeded", "five papers")
    attempts = desk.call("runs.list_attempts", task.run.id).results
    assert [attempt.content for attempt in attempts] == ["three papers", "four papers", "five papers"]
    [ticket, *_] = desk.call("tickets.list_tickets").results
    assert desk.call("tickets.get_ticket", ticket.ticket_id).trigger == models.Trigger.CRITIC_EVALUATION
    assert [found.id for found in desk.call("tasks.list_tasks", agent="researcher").results] == [task.id]
