"""An agent's name in either Unicode form is the name of one agent."""

from typing import Literal
from unicodedata import normalize

import pytest
from django.apps import apps
from django.db import connection
from django.test import Client

from reflection_app.migrations import __name__ as migrations
from reflection_app.repairs.models import AgentInstruction
from reflection_app.tasks.models import Task
from tests.api.caller import make_caller
from tests.factories import make_project, submit
from tests.web.stories import logged_in

pytestmark = pytest.mark.django_db(transaction=True)
NAME = "Café 가게"
type Form = Literal["NFC", "NFD"]


@pytest.mark.parametrize(("typed", "asked"), [("NFC", "NFD"), ("NFD", "NFC"), ("NFD", "NFD")])
def test_work_of_an_agent_is_found_in_either_form(client: Client, typed: Form, asked: Form) -> None:
    caller = make_caller()
    agent, wanted = normalize(typed, NAME), normalize(asked, NAME)
    objective = {"objective": "Write a haiku.", "kind": "creative_writing"}
    assert caller.post("tasks", objective | {"agent": agent}).status == 201
    failure = {"tool": "search", "params": {}, "error_message": "Timeout after 30s", "agent": agent}
    assert caller.post("tool-failures", failure).status in (200, 201)
    session = {"agent": agent, "messages": [{"role": "user", "content": "Hello."}]}
    assert caller.post("transcripts", session).status == 201
    for path in ("tasks", "runs", "tool-failures", "transcripts"):
        assert len(caller.get(path, agent=wanted).body["results"]) == 1, path
    logged_in(client, caller.project)
    for page in ("runs", "tools/failures"):
        assert normalize("NFC", NAME) in client.get(f"/p/{caller.project.slug}/{page}/", {"agent": wanted}).text


def test_the_migration_composes_the_names_that_are_stored() -> None:
    project = make_project()
    run = submit(project)
    Task.objects.update(agent=normalize("NFD", NAME))
    for agent, text in ((normalize("NFD", NAME), "One."), (normalize("NFD", NAME), "Two."), (NAME, "Two.")):
        AgentInstruction.objects.create(project=project, agent=agent, text=text)
    migration = __import__(f"{migrations}.0043_agents_composed", fromlist=["Migration"])
    with connection.cursor() as cursor:
        for operation in migration.Migration.operations:
            cursor.execute(operation.sql)
    run.task.refresh_from_db()
    assert run.task.agent == NAME
    stored = AgentInstruction.objects.values_list("agent", "text")
    assert set(stored) == {(NAME, "One."), (NAME, "Two."), (normalize("NFD", NAME), "Two.")}
    named = {
        (model._meta.db_table, field.name)
        for model in apps.get_app_config("reflection_app").get_models()
        for field in model._meta.fields
        if field.name in ("agent", "target_agent")
    }
    assert named - {("reflection_app_agentinstruction", "agent")} == set(migration.COLUMNS)
