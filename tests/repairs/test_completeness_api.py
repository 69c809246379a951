"""Histories of work done elsewhere, checked by REST."""

from datetime import timedelta
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import pytest
from django.utils import timezone
from pydantic import ValidationError

from reflection_app.adapters.llm.scripted import register_script
from reflection_app.api import waiting
from reflection_app.attachments.models import ProducedFile
from reflection_app.core.audit import AuditEntry
from reflection_app.repairs.completeness import CheckSubmission
from reflection_app.repairs.models import CompletenessCheck
from reflection_app.runs.advance import advance
from reflection_app.runs.events import Event
from reflection_app.runs.models import Run, RunState, Step
from tests import given, then
from tests.api.caller import Caller
from tests.attachments.produced import TORN_CSV, file_part, workbook
from tests.attachments.test_attempts_with_files import upload
from tests.loops.completeness.scenes import checked, wanted
from tests.repairs.completeness import reading_project, supplemented

pytestmark = pytest.mark.django_db

BODY: dict[str, Any] = {
    "objective": "搜索最新 AI 动态并通知用户",
    "history": [{"operation": "搜索最新 AI 动态", "tool": "search_web", "ok": True, "result": "新闻列表"}],
    "tools": [{"name": "search_web"}, {"name": "qq_message_send", "description": "发送消息", "parameters": {}}],
    "kind": "news",
    "agent": "小助手",
    "external_id": "job-7",
}
NOTIFY = checked(
    wanted("发送搜索结果通知", "任务明确要求通知用户", "qq_message_send", "fax", quote="通知用户"),
    wanted("搜索最新AI动态", ""),
    analysis="不完整：查询后未发送通知",
    missing=["用户通知"],
)


def caller_of(*said: str) -> Caller:
    answers = {
        f"history/completeness{again}": text for again, text in zip(("", "/again-1", "/again-2"), said, strict=False)
    }
    return given.caller(reading_project(models_by_role={"default": register_script(f"rest-{uuid4().hex}", answers)}))


@pytest.fixture
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waiting moves the runs on itself, since no worker runs beside these tests."""
    monkeypatch.setattr(waiting, "sleep", lambda _seconds: advance_all())


def advance_all() -> None:
    for run_id in Run.objects.filter(state=RunState.QUEUED).values_list("pk", flat=True):
        advance(run_id)


@pytest.mark.usefixtures("_at_once")
def test_a_history_is_checked_and_told_with_what_the_guards_left_out() -> None:
    agent = caller_of(NOTIFY)
    answer = agent.post("completeness-checks?wait=10", BODY)
    assert answer.status == 201, answer.body
    check = answer.body
    assert (check["state"], check["missing_aspects"]) == ("incomplete", ["用户通知"])
    [supplement] = check["supplements"]
    assert (supplement["operation"], supplement["suggested_tools"]) == ("发送搜索结果通知", ["qq_message_send"])
    assert [(one["operation"], one["code"], one["parameters"]) for one in check["dropped"]] == [
        ("发送搜索结果通知", "unknown_tool", {"name": "fax"}),
        ("搜索最新AI动态", "done_already", {}),
    ]
    assert (check["kind"], check["agent"], check["external_id"]) == ("news", "小助手", "job-7")
    assert agent.get(f"completeness-checks/{check['id']}").body == check
    [listed] = agent.get("completeness-checks", state="incomplete", kind="news").body["results"]
    assert listed["id"] == check["id"]
    assert agent.get("completeness-checks", state="checking").body["results"] == []
    events = agent.get(f"runs/{check['run_id']}/events").body["results"]
    [told] = [event["payload"] for event in events if event["type"] == "reflection"]
    assert told == {
        "isComplete": False,
        "analysis": "不完整：查询后未发送通知",
        "missingsCount": 1,
        "supplementsCount": 1,
    }
    assert AuditEntry.objects.filter(action="task.submitted").exists()


def test_a_check_that_fails_is_unchecked_and_says_why() -> None:
    agent = caller_of("完整", "完整", "完整")
    check = agent.post("completeness-checks", BODY).body
    advance_all()
    told = agent.get(f"completeness-checks/{check['id']}").body
    assert (told["state"], told["supplements"]) == ("unchecked", [])
    assert "no usable answer in 3 tries" in told["error"]

    given_up = agent.post("completeness-checks", BODY).body
    agent.post(f"runs/{given_up['run_id']}/cancel")
    told = agent.get(f"completeness-checks/{given_up['id']}").body
    assert (told["state"], told["error"]) == ("unchecked", "The check ended before it could tell: cancelled.")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"objective": " "}, "objective"),
        ({"history": [{"operation": "x", "result": "字" * 15_000}] * 30}, "history"),
        ({"settings": {"when": "off"}}, "settings.when"),
        ({"files": ["a text"]}, "files.0"),
        ({"files": [{"type": "image_url", "image_url": {"url": "https://a.example/b.png"}}]}, "files.0"),
        ({"required_files": [{"path": "a", "kind": "wav"}]}, "required_files.0.kind"),
    ],
)
def test_what_is_wrong_with_a_submission_is_named(change: dict[str, Any], field: str) -> None:
    with pytest.raises(ValidationError) as refused:
        CheckSubmission.model_validate(BODY | change)
    assert ".".join(map(str, refused.value.errors()[0]["loc"])) == field


@pytest.mark.usefixtures("_at_once")
def test_settings_of_one_check_come_before_those_of_the_project() -> None:
    agent = caller_of(NOTIFY)
    agent.project.completeness = {"when": "off", "temperature": 0.9}
    agent.project.save(update_fields=["completeness"])
    body = BODY | {"settings": {"max_supplements": 0}}
    check = agent.post("completeness-checks?wait=10", body).body
    assert (check["state"], check["supplements"]) == ("incomplete", [])
    spec = Run.objects.get(pk=check["run_id"]).get_spec()
    assert spec.completeness is not None
    assert (spec.completeness.max_supplements, spec.completeness.temperature) == (0, 0.9)


def test_a_run_tells_its_check_and_its_statistics_and_one_without_a_check_nothing() -> None:
    run = supplemented(reading_project())
    told = given.caller(run.project).get(f"runs/{run.pk}").body["completeness"]
    [supplement] = told["supplements"]
    assert (supplement["operation"], supplement["succeeded"], supplement["left_out"]) == ("读取第二个文件", True, None)
    assert told["spent"]["tokens"] == 250 + supplement["tokens"] + told["second_look"]["tokens"]
    assert (told["state"], told["settings_from"]) == ("completed_by_supplement", "desk")
    assert told["exec"] == {"used": True, "attempted": 2, "succeeded": 2, "success_rate": 1.0}
    other = given.submitted_run(run.project)
    assert given.caller(run.project).get(f"runs/{other.pk}").body["completeness"] is None


def test_checks_are_listed_with_what_came_of_them_and_narrowed_by_state_kind_time_and_run() -> None:
    project = reading_project()
    agent = given.caller(project)
    done, _again = supplemented(project), supplemented(project)
    complete = supplemented(project, {"attempt-1/completeness": checked(analysis="都有了")}, kind="another")
    [recurring] = agent.get("completeness/recurring").body["results"]
    assert (recurring["operation"], recurring["runs"], recurring["succeeded"]) == ("读取第二个文件", 2, 2)
    listed = agent.get("completeness/checks").body["results"]
    [missing] = next(one for one in listed if one["run_id"] == str(done.pk))["supplements"]
    assert (missing["attempted"], missing["succeeded"], missing["recurring_as"]) == (True, True, recurring["source"])

    def narrowed(**by: str) -> list[str]:
        query = "&".join(f"{name}={quote(value)}" for name, value in by.items())
        return [one["run_id"] for one in agent.get(f"completeness/checks?{query}").body["results"]]

    assert narrowed(state="complete") == narrowed(kind="another") == narrowed(run_id=str(complete.pk))
    assert narrowed(state="complete") == [str(complete.pk)]
    CompletenessCheck.objects.exclude(run=complete).update(created_at=timezone.now() - timedelta(days=2))
    assert narrowed(since=(timezone.now() - timedelta(days=1)).isoformat()) == [str(complete.pk)]


ALL_THERE = checked(analysis="All is there.")
WITH_FILES: dict[str, Any] = {
    "objective": "Write the sales of each region to sales.csv.",
    "history": [{"operation": "Write the file", "tool": "write_file", "result": "Written."}],
    "tools": [{"name": "write_file"}],
}


def checked_by(caller: Caller, **body: Any) -> Any:
    answer = caller.post("completeness-checks", WITH_FILES | body)
    assert answer.status == 201, answer.body
    advance(answer.body["run_id"])
    return caller.get(f"completeness-checks/{answer.body['id']}").body


def test_a_torn_row_makes_it_incomplete_though_the_model_says_complete() -> None:
    caller = caller_of(ALL_THERE)
    check = checked_by(caller, files=[file_part(TORN_CSV, name="sales.csv")])
    assert check["state"] == "incomplete"
    [fault] = check["faulty_files"]
    assert (fault["file"], fault["code"], fault["place"]) == ("sales.csv", "torn_row", "line 3")
    [file] = check["files"]
    assert (file["kind"], file["columns"]) == ("csv", ["region", "sales"])
    assert caller.get(f"attachments/{file['attachment']}/content").body == TORN_CSV
    asked = Step.objects.get(run=check["run_id"], key="history/completeness")
    assert "line 3" in str(asked.request["messages"])
    events = caller.get(f"runs/{check['run_id']}/events").body["results"]
    [payload] = [event["payload"] for event in events if event["type"] == "reflection"]
    assert (payload["isComplete"], payload["filesCount"], payload["fileFaultsCount"]) == (False, 1, 1)


def test_what_was_uploaded_before_is_looked_at_by_its_id_and_kept() -> None:
    caller = caller_of(ALL_THERE)
    kept = upload(caller, workbook()[:-200], name="sales.xlsx").body
    check = checked_by(caller, files=[{"type": "attachment", "id": kept["id"]}])
    assert check["state"] == "incomplete"
    assert check["files"][0]["attachment"] == kept["id"]
    assert ProducedFile.objects.filter(attachment=kept["id"]).count() == 2


def test_a_file_that_was_not_uploaded_is_refused_and_nothing_is_stored() -> None:
    answer = caller_of(ALL_THERE).post(
        "completeness-checks", WITH_FILES | {"files": [{"type": "attachment", "id": str(uuid4())}]}
    )
    then.refused(answer, 400)
    assert then.named_fields(answer) == ["files.0"]
    assert not Run.objects.exists()


def test_faulty_files_make_a_check_incomplete_though_no_model_could_be_asked() -> None:
    check = checked_by(caller_of("no answer"), files=[file_part(TORN_CSV, name="sales.csv")])
    assert check["state"] == "incomplete"
    told = Event.objects.filter(run=check["run_id"], type="completeness.incomplete").values_list("payload", flat=True)
    assert [one["attempt"] for one in told] == [1]
