"""A task chooses models for its roles, of those that its project allows and the desk offers."""

from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from reflection_app.adapters.llm.gateway import stop_model_loop
from reflection_app.adapters.llm.roles import offered_models
from reflection_app.adapters.llm.scripted import register_script
from reflection_app.core.audit import Actor, AuditEntry
from reflection_app.core.models import Project
from reflection_app.runs.advance import advance
from reflection_app.runs.models import Run, Step
from reflection_app.runs.resuming import cancel_run
from tests import given, then, when
from tests.api.caller import Caller
from tests.openai_server import OpenAIServer
from tests.runs.critiques import critique
from tests.sessions.looking_back import errors_said, finding, looked_back, memories_said, memory, watched_project
from tests.teams.test_settings import TYPED

pytestmark = pytest.mark.django_db


@pytest.fixture
def caller(settings: Settings) -> Caller:
    usual = register_script("chosen-usual", {"attempt-1/answer": "By the usual one.", "attempt-1/critique": "{}"})
    strict = register_script("chosen-strict", {"attempt-1/critique": critique(90, approved=True)})
    settings.LLM_OFFERED_MODELS = [strict, "openai/gpt-4o-mini"]
    project = given.project(
        "choose", models_by_role={"default": usual}, allowed_models=[strict], review_policy={"audit_share": 0}
    )
    return given.caller(project)


def test_the_chosen_model_is_asked_and_told(caller: Caller) -> None:
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


@pytest.mark.parametrize(
    ("models", "field"),
    [
        ({"critic": "openai/gpt-4o-mini"}, "models.critic"),
        ({"director": "scripted/chosen-strict"}, "models.director.[key]"),
        ("scripted/chosen-strict", "models"),
    ],
)
def test_what_the_project_does_not_allow_is_refused_by_its_role(caller: Caller, models: object, field: str) -> None:
    refused = caller.post("tasks", {"objective": "x", "models": models})
    assert (refused.status, then.named_fields(refused)) == (400, [field])
    assert not Run.objects.exists()


def test_what_the_desk_offers_no_longer_is_refused_though_the_project_allows_it(
    caller: Caller, settings: Settings
) -> None:
    settings.LLM_OFFERED_MODELS = []
    refused = caller.post("tasks", {"objective": "x", "models": {"critic": "scripted/chosen-strict"}})
    assert then.named_fields(refused) == ["models.critic"]
    assert "none (an admin sets them" in refused.body["errors"][0]["message"]


def test_the_desk_offers_what_it_is_configured_with_and_what_is_named(settings: Settings) -> None:
    settings.LLM_MODEL, settings.LLM_CRITIC_MODEL, settings.LLM_OFFERED_MODELS = "openai/a", "none", ["openai/b"]
    assert offered_models() == ["openai/a", "openai/b"]


def test_an_admin_allows_of_what_is_offered(client: Client, settings: Settings) -> None:
    settings.LLM_OFFERED_MODELS = ["openai/a", "openai/b"]
    admin = given.logged_in(client, given.project("set"))
    assert 'value="openai/b"' in admin.get("/p/set/settings/").text
    assert admin.post("/p/set/settings/", TYPED | {"allowed_models": ["openai/b"]}).status_code == 302
    assert Project.objects.get(slug="set").allowed_models == ["openai/b"]
    refused = admin.post("/p/set/settings/", TYPED | {"allowed_models": ["openai/b", "ollama/x"]})
    assert refused.status_code == 400
    assert "Not available on this server: ollama/x." in refused.text
    assert Project.objects.get(slug="set").allowed_models == ["openai/b"]
    typed = {"objective": "x", "mode": "adaptive", "kind": "creative_writing", "model_critic": "openai/b"}
    assert admin.post("/p/set/tasks/new/", typed).status_code == 302
    assert Run.objects.get().get_spec().models == {"critic": "openai/b"}
    wrong = admin.post("/p/set/tasks/new/", typed | {"model_critic": "openai/a"})
    assert "error-model_critic" in wrong.text


def _answer(request: dict[str, Any]) -> str:
    """As the actor, the critic or one of the two who look back, by the model that is asked."""
    if request["model"] != "wise":
        return critique(90, approved=True) if request["model"] == "usual" else "An answer."
    remembers = "worth remembering" in request["messages"][0]["content"]
    return memories_said(memory()) if remembers else errors_said(finding())


def test_who_looks_back_has_the_model_that_the_task_chose_for_reflectors(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.LLM_MODEL, settings.LLM_STREAMING = "openai/usual", False
    settings.LLM_OFFERED_MODELS = ["openai/wise", "openai/strong"]
    project = watched_project(allowed_models=["openai/wise", "openai/strong"])
    chosen = {"reflector": "openai/wise", "actor": "openai/strong"}
    # The library of models is loaded by the first call, which takes its time.
    body = {"objective": "x", "mode": "actor_critic", "models": chosen, "limits": {"time_budget_s": 3600}}
    task = given.caller(project).post("tasks", body)
    run = Run.objects.get(pk=task.body["run"]["id"])
    # Who looks back is as the project has it by then, behind what was chosen.
    Project.objects.filter(pk=project.pk).update(models_by_role={"critic": "openai/later"})
    with OpenAIServer(_answer) as server:
        monkeypatch.setenv("OPENAI_API_BASE", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        advance(run.pk)
        rows = looked_back(run)
        stop_model_loop()
    assert [row.fork.outcome for row in rows.values()] == ["succeeded", "succeeded"]
    assert rows["errors"].fork.get_spec().models == chosen | {"critic": "openai/later"}
    asked = Step.objects.filter(kind="generate").values_list("role", "model").distinct()
    assert set(asked) == {
        ("actor", "openai/strong"),
        ("critic", "openai/usual"),
        ("error_reflector", "openai/wise"),
        ("memory_reflector", "openai/wise"),
    }


def forkable(caller: Caller) -> Run:
    """A run whose usual critic sent the first attempt back, and which nobody chose a model for."""
    answers = {
        "attempt-1/answer": "first",
        "attempt-1/critique": critique(40),
        "attempt-2/answer": "second",
        "attempt-2/critique": critique(90, approved=True),
    }
    model = register_script("chosen-usual", answers)
    task = caller.post("tasks", {"objective": "x", "mode": "actor_critic", "limits": {"max_iterations": 2}})
    run = Run.objects.get(pk=task.body["run"]["id"])
    assert run.get_spec().models == {"default": model}
    when.advances(run)
    assert (run.outcome, run.attempts_made, run.chosen_models) == ("succeeded", 2, {})
    return run


def test_a_fork_chooses_the_models_that_it_goes_on_with(caller: Caller, client: Client) -> None:
    run = forkable(caller)
    strict = {"critic": "scripted/chosen-strict"}
    answer = caller.post(f"runs/{run.pk}/fork", {"from_step": 2, "models": strict})
    assert answer.status == 201, answer.body
    fork = Run.objects.get(parent=run)
    when.advances(fork)
    # The critic of its own likes the first attempt, which it has from its parent.
    assert (fork.outcome, fork.attempts_made, fork.llm_calls, fork.chosen_models) == ("succeeded", 1, 1, strict)
    assert fork.steps.get(key="attempt-1/critique").model == "scripted/chosen-strict"
    assert caller.get(f"runs/{fork.pk}").body["models"] == {"default": "scripted/chosen-usual"} | strict
    assert AuditEntry.objects.get(action="run.forked").after["models"] == strict
    page = given.logged_in(client, caller.project).get(f"/p/choose/runs/{fork.pk}/").text
    assert "Model: Critic" in page
    assert "<code>scripted/chosen-strict</code>" in page
    # Its task chose none, and says so; what is forked from the fork has it, too.
    assert caller.get(f"tasks/{fork.task_id}").body["models"] == {}
    assert "Model: Critic" not in client.get(f"/p/choose/runs/{run.pk}/").text
    again = caller.post(f"runs/{fork.pk}/fork", {"from_step": 1})
    assert Run.objects.get(pk=again.body["id"]).chosen_models == strict


def test_a_fork_that_chooses_a_critic_is_judged_though_the_project_has_none(caller: Caller) -> None:
    Project.objects.filter(pk=caller.project.pk).update(
        models_by_role={"default": "scripted/chosen-usual", "critic": "none"}
    )
    said = {"classify": '{"task_kind": "creative_writing"}', "attempt-1/answer": "By the usual one."}
    register_script("chosen-usual", said)
    task = caller.post("tasks", {"objective": "x", "mode": "adaptive"})
    run = Run.objects.get(pk=task.body["run"]["id"])
    assert not run.get_spec().has_critic
    run = cancel_run(run, actor=Actor())
    answer = caller.post(f"runs/{run.pk}/fork", {"from_step": 1, "models": {"critic": "scripted/chosen-strict"}})
    fork = Run.objects.get(pk=answer.body["id"])
    when.advances(fork)
    assert (fork.outcome, fork.steps.get(role="critic").model) == ("succeeded", "scripted/chosen-strict")
