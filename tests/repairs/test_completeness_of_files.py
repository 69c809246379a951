"""Checks of completeness that look at the files: no model's word that all is there stands against what they lack."""

from typing import Any
from uuid import uuid4

import pytest

from reflection_app.adapters.llm.scripted import register_script
from reflection_app.attachments.models import ProducedFile
from reflection_app.runs.advance import advance
from reflection_app.runs.events import Event
from reflection_app.runs.models import Run, Step
from tests import given, then
from tests.api.caller import Caller
from tests.attachments.produced import TORN_CSV, file_part, workbook
from tests.attachments.test_attempts_with_files import upload
from tests.loops.completeness.scenes import checked
from tests.repairs.completeness import reading_project

pytestmark = pytest.mark.django_db

COMPLETE = checked(analysis="All is there.")
BODY: dict[str, Any] = {
    "objective": "Write the sales of each region to sales.csv.",
    "history": [{"operation": "Write the file", "tool": "write_file", "result": "Written."}],
    "tools": [{"name": "write_file"}],
}


def caller_saying(said: str = COMPLETE) -> Caller:
    script = register_script(f"files-{uuid4().hex}", {"history/completeness": said})
    return given.caller(reading_project(models_by_role={"default": script}))


def checked_by(caller: Caller, **body: Any) -> Any:
    answer = caller.post("completeness-checks", BODY | body)
    assert answer.status == 201, answer.body
    advance(answer.body["run_id"])
    return caller.get(f"completeness-checks/{answer.body['id']}").body


def test_a_torn_row_makes_it_incomplete_though_the_model_says_complete() -> None:
    caller = caller_saying()
    check = checked_by(caller, files=[file_part(TORN_CSV, name="sales.csv")])
    assert check["state"] == "incomplete"
    [fault] = check["faulty_files"]
    assert (fault["file"], fault["code"], fault["place"]) == ("sales.csv", "torn_row", "line 3")
    [file] = check["files"]
    assert (file["name"], file["kind"], file["columns"]) == ("sales.csv", "csv", ["region", "sales"])
    content = caller.get(f"attachments/{file['attachment']}/content")
    assert content.body == TORN_CSV
    asked = Step.objects.get(run=check["run_id"], key="history/completeness")
    told = str(asked.request["messages"])
    assert "sales.csv" in told
    assert "line 3" in told
    events = caller.get(f"runs/{check['run_id']}/events").body["results"]
    [payload] = [event["payload"] for event in events if event["type"] == "reflection"]
    assert (payload["isComplete"], payload["filesCount"], payload["fileFaultsCount"]) == (False, 1, 1)
    assert caller.get(f"runs/{check['run_id']}").body["completeness"]["faulty_files"] == check["faulty_files"]


def test_what_was_uploaded_before_is_looked_at_by_its_id_and_kept() -> None:
    caller = caller_saying()
    kept = upload(caller, workbook()[:-200], name="sales.xlsx").body
    check = checked_by(caller, files=[{"type": "attachment", "id": kept["id"]}])
    assert check["state"] == "incomplete"
    assert check["files"][0]["attachment"] == kept["id"]
    assert ProducedFile.objects.filter(attachment=kept["id"]).count() == 2


def test_a_check_without_files_tells_nothing_of_any() -> None:
    check = checked_by(caller_saying())
    assert (check["state"], check["files"], check["faulty_files"]) == ("complete", [], [])
    assert not Step.objects.filter(run=check["run_id"], kind="inspect_files").exists()


def test_a_file_that_was_not_uploaded_is_refused_and_nothing_is_stored() -> None:
    answer = caller_saying().post("completeness-checks", BODY | {"files": [{"type": "attachment", "id": str(uuid4())}]})
    then.refused(answer, 400)
    assert then.named_fields(answer) == ["files.0"]
    assert not Run.objects.exists()


def test_faulty_files_make_a_check_incomplete_though_no_model_could_be_asked() -> None:
    check = checked_by(caller_saying("no answer"), files=[file_part(TORN_CSV, name="sales.csv")])
    assert check["state"] == "incomplete"
    told = Event.objects.filter(run=check["run_id"], type="completeness.incomplete").values_list("payload", flat=True)
    assert [one["attempt"] for one in told] == [1]
