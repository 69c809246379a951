"""A task chooses models for its roles, of those that its project allows and the desk offers."""

import pytest
from django.test import Client
from pytest_django import Settings

from reflection_app.adapters.llm.roles import offered_models
from reflection_app.adapters.llm.scripted import register_script
from reflection_app.core.models import Project
from reflection_app.runs.advance import advance
from reflection_app.runs.models import Run, Step
from tests.api.caller import Caller, fields, make_caller
from tests.factories import make_project
from tests.runs.critiques import critique
from tests.teams.test_settings import TYPED
from tests.web.stories import logged_in

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def caller(settings: Settings) -> Caller:
    usual = register_script("chosen-usual", {"attempt-1/answer": "By the usual one.", "attempt-1/critique": "{}"})
    strict = register_script("chosen-strict", {"attempt-1/critique": critique(90, approved=True)})
    settings.LLM_OFFERED_MODELS = [strict, "openai/gpt-4o-mini"]
    project = make_project(
        "choose", models_by_role={"default": usual}, allowed_models=[strict], review_policy={"audit_share": 0}
    )
    return make_caller(project)


def test_the_chosen_model_is_asked_and_told(caller: Caller, client: Client) -> None:
    task = caller.post(
        "tasks", {"objective": "x", "mode": "actor_critic", "models": {"critic": "scripted/chosen-strict"}}
    )
    assert (task.status, task.body["models"]) == (201, {"critic": "scripted/chosen-strict"})
    run_id = task.body["run"]["id"]
    run = Run.objects.get(pk=run_id)
    advance(run.pk)
    asked = dict(Step.objects.filter(run=run, kind="generate").values_list("role", "model"))
    assert asked == {"actor": "scripted/chosen-usual", "critic": "scripted/chosen-strict"}
    assert caller.get(f"runs/{run_id}").body["models"] == {
        "default": "scripted/chosen-usual",
        "critic": "scripted/chosen-strict",
    }
    page = logged_in(client, caller.project).get(f"/p/choose/runs/{run_id}/").text
    assert "<code>scripted/chosen-strict</code>" in page


@pytest.mark.parametrize(
    ("models", "field"),
    [
        ({"critic": "openai/gpt-4o-mini"}, "models.critic"),
        ({"critic": "ollama/llama3"}, "models.critic"),
        ({"critic": "scripted/chosen-strict "}, "models.critic"),
        ({"director": "scripted/chosen-strict"}, "models.director.[key]"),
        ({"critic": 1}, "models.critic"),
        ("scripted/chosen-strict", "models"),
    ],
)
def test_what_the_project_does_not_allow_is_refused_by_its_role(caller: Caller, models: object, field: str) -> None:
    refused = caller.post("tasks", {"objective": "x", "models": models})
    assert (refused.status, fields(refused)) == (400, [field])
    assert not Run.objects.exists()


def test_what_the_desk_offers_no_longer_is_refused_though_the_project_allows_it(
    caller: Caller, settings: Settings
) -> None:
    settings.LLM_OFFERED_MODELS = []
    refused = caller.post("tasks", {"objective": "x", "models": {"critic": "scripted/chosen-strict"}})
    assert fields(refused) == ["models.critic"]
    assert "none: an admin chooses them" in refused.body["errors"][0]["message"]


def test_the_model_of_an_outside_agent_is_not_the_desks_to_choose(caller: Caller) -> None:
    body = {"objective": "x", "execution": "external", "models": {"actor": "scripted/chosen-strict"}}
    assert fields(caller.post("tasks", body)) == ["models.actor"]


def test_the_desk_offers_what_it_is_configured_with_and_what_is_named(settings: Settings) -> None:
    settings.LLM_MODEL, settings.LLM_CRITIC_MODEL, settings.LLM_OFFERED_MODELS = "openai/a", "none", ["openai/b"]
    assert offered_models() == ["openai/a", "openai/b"]


def test_an_admin_allows_of_what_is_offered(client: Client, settings: Settings) -> None:
    settings.LLM_OFFERED_MODELS = ["openai/a", "openai/b"]
    admin = logged_in(client, make_project("set"))
    assert 'value="openai/b"' in admin.get("/p/set/settings/").text
    assert admin.post("/p/set/settings/", TYPED | {"allowed_models": ["openai/b"]}).status_code == 302
    assert Project.objects.get(slug="set").allowed_models == ["openai/b"]
    refused = admin.post("/p/set/settings/", TYPED | {"allowed_models": ["openai/b", "ollama/x"]})
    assert refused.status_code == 400
    assert "The desk does not offer ollama/x." in refused.text
    assert Project.objects.get(slug="set").allowed_models == ["openai/b"]
    typed = {"objective": "x", "mode": "adaptive", "kind": "creative_writing", "model_critic": "openai/b"}
    assert admin.post("/p/set/tasks/new/", typed).status_code == 302
    assert Run.objects.get().get_spec().models == {"critic": "openai/b"}
    wrong = admin.post("/p/set/tasks/new/", typed | {"model_critic": "openai/a"})
    assert "error-model_critic" in wrong.text
