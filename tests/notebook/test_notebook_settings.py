import pytest
from django.test import Client
from pydantic import ValidationError

from reflection_app.core.audit import AuditEntry
from reflection_app.core.models import Project
from reflection_app.loops.project_settings import LessonSettings, NotebookSettings, ReflectionMode
from reflection_app.tasks.models import Task
from reflection_app.tasks.submission import ReflectionInput
from tests import given

pytestmark = pytest.mark.django_db
PAGE = "/p/set/settings/notebook/"
TYPED = {
    "reflection": "post_hoc",
    "error_reflector": "on",
    "memory_reflector": "on",
    "tells_lessons": "on",
    "most": "7",
    "holdout_share": "0.25",
    "rules_most": "12",
    "rules_least_occurrences": "2",
}


@pytest.fixture
def admin(client: Client) -> Client:
    return given.logged_in(client, given.project("set"))


def test_how_a_project_learns_is_saved_shown_and_told_in_the_trail(admin: Client) -> None:
    admin.post(PAGE, TYPED)
    saved = Project.objects.get(slug="set").get_notebook()
    assert (saved.reflection, saved.lessons) == (ReflectionMode.POST_HOC, LessonSettings(most=7, holdout_share=0.25))
    assert (saved.rules_most, saved.rules_least_occurrences) == (12, 2)
    [entry] = AuditEntry.objects.filter(action="settings.changed")
    assert entry.after["notebook"]["lessons"] == {"most": 7, "holdout_share": 0.25}
    admin.post(PAGE, TYPED)
    assert AuditEntry.objects.filter(action="settings.changed").count() == 1


def test_each_switch_is_turned_off_by_itself(admin: Client) -> None:
    for switch in ("error_reflector", "memory_reflector", "tells_lessons"):
        admin.post(PAGE, {name: value for name, value in TYPED.items() if name != switch} | {"reflection": ""})
        saved = Project.objects.get(slug="set").get_notebook()
        on = {
            "error_reflector": saved.error_reflector,
            "memory_reflector": saved.memory_reflector,
            "tells_lessons": saved.lessons is not None,
        }
        assert (on, saved.reflection) == (dict.fromkeys(on, True) | {switch: False}, None)


def test_what_is_wrong_is_told_and_what_was_typed_stays(admin: Client) -> None:
    wrong = {"most": "21", "holdout_share": "nan", "rules_least_occurrences": "", "reflection": "always"}
    for field, value in wrong.items():
        page = admin.post(PAGE, TYPED | {field: value})
        assert (page.status_code, f'id="error-{field}"' in page.text) == (400, True)
        assert 'name="rules_most" value="12"' in page.text
    assert Project.objects.get(slug="set").notebook == {}


def test_a_task_says_for_itself_when_it_is_looked_back_at(admin: Client) -> None:
    admin.post("/p/set/tasks/new/", {"objective": "Say hello.", "mode": "adaptive", "reflection": "off"})
    assert Task.objects.get().reflection == "off"
    page = admin.post("/p/set/tasks/new/", {"objective": "Say hello.", "mode": "adaptive", "reflection": "sometimes"})
    assert page.status_code == 400


def test_a_mode_may_be_written_with_a_hyphen() -> None:
    assert (
        NotebookSettings.model_validate({"reflection": "post-hoc"}).model_dump(mode="json")["reflection"] == "post_hoc"
    )
    assert ReflectionInput.model_validate({"mode": "post-hoc"}).mode == ReflectionMode.POST_HOC
    with pytest.raises(ValidationError):
        ReflectionInput.model_validate({"mode": "posthoc"})
