import pytest
from django.test import Client
from pytest_django import Settings

from reflection_app.core.audit import Actor, AuditEntry
from reflection_app.core.models import Project
from reflection_app.teams.tools import add_builtin_tools
from tests import given

pytestmark = pytest.mark.django_db
TYPED = {
    "max_iterations": "4",
    "token_budget": "100000000",
    "time_budget_s": "12.5",
    "cost_budget_usd": "",
    "pass_from": "50",
    "revise_from": "30",
    "when": "on",
    "share": "10",
    "look_again": "on",
    "max_supplements": "3",
    "temperature": "0.2",
    "top_p": "1",
    "max_retries": "2",
}


@pytest.fixture
def admin(client: Client) -> Client:
    return given.logged_in(client, given.project("set"))


def test_limits_and_thresholds_are_saved_and_hold_in_the_next_run(admin: Client) -> None:
    page = admin.post("/p/set/settings/", TYPED | {"pass_from": "80", "revise_from": "55"}, follow=True).text
    assert 'value="100000000"' in page
    assert 'name="pass_from" value="80"' in page
    project = Project.objects.get(slug="set")
    assert (project.get_limits().time_budget_s, project.get_limits().cost_budget_usd) == (12.5, None)
    assert project.review_policy == {}
    assert (project.get_thresholds().pass_from, project.get_thresholds().revise_from) == (80, 55)
    assert given.submitted_run(project).get_spec().thresholds == project.get_thresholds()
    [entry] = AuditEntry.objects.filter(action="settings.changed")
    assert entry.after["thresholds"] == {"pass_from": 80, "revise_from": 55}


def test_the_completeness_check_is_set_and_what_is_as_usual_follows_the_server(admin: Client) -> None:
    admin.post("/p/set/settings/", TYPED | {"max_supplements": "0", "temperature": "0.9"})
    project = Project.objects.get(slug="set")
    assert project.completeness == {"max_supplements": 0, "temperature": 0.9}
    [entry] = AuditEntry.objects.filter(action="settings.changed")
    assert (entry.before["completeness"], entry.after["completeness"]) == ({}, project.completeness)

    typed = TYPED | {"when": "sampled", "share": "12.5", "max_supplements": "", "max_cost_usd": "0.05"}
    typed.pop("look_again")
    page = admin.post("/p/set/settings/", typed, follow=True).text
    saved = Project.objects.get(slug="set").completeness
    assert saved == {"when": "sampled", "share": 0.125, "max_cost_usd": "0.05", "look_again": False}
    assert '<option value="sampled" selected>' in page
    assert 'name="share" value="12.5"' in page
    assert 'name="max_cost_usd" value="0.05"' in page
    assert 'name="look_again" checked' not in page


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_iterations": "0"},
        {"cost_budget_usd": "x"},
        {"max_supplements": "21"},
        {"share": "some"},
        {"revise_from": "60", "pass_from": "50"},
    ],
)
def test_wrong_settings_are_refused_at_their_field(admin: Client, wrong: dict[str, str]) -> None:
    page = admin.post("/p/set/settings/", TYPED | wrong)
    assert page.status_code == 400
    assert f"error-{next(iter(wrong))}" in page.text
    assert 'value="12.5"' in page.text
    assert Project.objects.get(slug="set").limits == {}


def test_a_chip_shows_that_the_built_in_model_answers(admin: Client, settings: Settings) -> None:
    assert "Built-in model" not in admin.get("/p/set/").text
    settings.LOCAL_MODEL_URL = "http://127.0.0.1:1/v1"
    chip = admin.get("/p/set/").text.partition("Built-in model")[2].partition("</details>")[0]
    assert 'href="/p/set/settings/#models"' in chip
    settings.LLM_MODEL = "openai/some-model"
    page = admin.get("/p/set/settings/").text
    assert "Built-in model" not in page
    assert "openai/some-model" in page


def test_the_tool_that_is_asked_for_knowledge_is_one_of_the_projects(admin: Client) -> None:
    project = Project.objects.get(slug="set")
    refused = admin.post("/p/set/settings/", TYPED | {"knowledge_tool": "python"})
    assert refused.status_code == 400

    add_builtin_tools(project, actor=Actor())
    page = admin.post("/p/set/settings/", TYPED | {"knowledge_tool": "python"}, follow=True)
    assert '<option value="python" selected>' in page.text
    asked = (
        given.submitted_run(Project.objects.get(slug="set"), objective="What is the tariff?").get_spec().knowledge_tool
    )
    assert asked is not None
    assert asked.name == "python"


def test_the_money_limit_is_set_in_dollars(admin: Client) -> None:
    typed = TYPED | {"max_cost_usd": "0.05"}
    typed.pop("look_again")
    page = admin.post("/p/set/settings/", typed, follow=True).text
    project = Project.objects.get(slug="set")
    assert project.completeness == {"max_cost_usd": "0.05", "look_again": False}
    assert 'name="max_cost_usd" value="0.05"' in page
    assert 'name="look_again" checked' not in page
    assert str(project.get_completeness().max_cost_usd) == "0.05"
