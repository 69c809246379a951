"""Attempts that come with pictures, sounds, files and links: what is kept of them, once, and what is refused."""

import base64
import json
from typing import Any

import pytest
from pytest_django.fixtures import Settings

from reflection_app.attachments.models import Attachment, AttemptAttachment
from reflection_app.loops.content_parts import media_of_parts
from reflection_app.runs.models import Attempt
from tests import given, then
from tests.api.caller import Answer, Caller
from tests.attachments.samples import part, pdf, png
from tests.runs.test_attempts import asked, hand_in

pytestmark = pytest.mark.django_db
FIELD = 'Content-Disposition: form-data; name="file"; filename="{}"'


def upload(
    caller: Caller, content: bytes, *, name: str = "a.png", claims: str = "image/png", field: str = ""
) -> Answer:
    said = (field or FIELD.format(name)).encode()
    body = b"--b\r\n" + said + b"\r\nContent-Type: " + claims.encode() + b"\r\n\r\n" + content + b"\r\n--b--\r\n"
    return caller.call("POST", "attachments", data=body, content_type="multipart/form-data; boundary=b")


def attempts_of(caller: Caller, run: Any) -> list[Any]:
    attempts: list[Any] = caller.get(f"runs/{run.pk}/attempts").body["results"]
    return attempts


def parts(*more: Any) -> Any:
    return ["Here it is:", *more]


def test_a_picture_is_kept_with_what_it_is_and_its_word_stands_in_the_text(caller: Caller) -> None:
    run = asked(caller)
    picture = png(300, 200)
    assert hand_in(caller, run, parts(part(picture, "image/jpeg", name="Sales 2025.jpeg"))).status == 202
    (attempt,) = attempts_of(caller, run)
    assert attempt["content"] == "Here it is:\n[image, image/jpeg, Sales 2025.jpeg, 1 kB]"
    (held,) = attempt["attachments"]
    assert held["word"] == "[image, image/jpeg, Sales 2025.jpeg, 1 kB]"
    # What it claims to be it is not: it is named and told as what its bytes are.
    assert held["name"] == "Sales 2025.jpeg.png"
    kept = held["attachment"]
    assert (kept["media_type"], kept["width"], kept["height"], kept["size"]) == ("image/png", 300, 200, len(picture))
    content = caller.get(f"attachments/{kept['id']}/content")
    assert content.body == picture
    assert content.headers["content-type"] == "image/png"


@pytest.mark.parametrize(
    "sent",
    [
        {"type": "input_image", "image_url": "data:image/png;base64,DATA"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "DATA"}},
        {"inlineData": {"mimeType": "image/png", "data": "DATA"}},
        {"type": "image", "data": "DATA", "mimeType": "image/png"},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,DATA"}},
        {"type": "tool_result", "content": [{"type": "image", "source": {"type": "base64", "data": "DATA"}}]},
    ],
)
def test_every_form_of_a_part_holds_its_bytes(sent: dict[str, Any]) -> None:
    data = base64.b64encode(png()).decode()
    (found,) = media_of_parts([json.loads(json.dumps(sent).replace("DATA", data))])
    assert found.content == png()


@pytest.mark.parametrize("data", ["not base64 at all!", "ünicode"])
def test_data_that_is_none_is_refused_and_nothing_is_handed_in(caller: Caller, data: str) -> None:
    run = asked(caller)
    sent = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
    answer = hand_in(caller, run, parts(sent, part(png())))
    then.refused(answer, 400)
    assert then.named_fields(answer) == ["content"]
    assert "part 2 cannot be read, its data is no Base64" in answer.body["errors"][0]["message"]
    assert not Attempt.objects.filter(run=run).exists()
    assert not Attachment.objects.exists()


def test_a_link_is_kept_and_never_followed(caller: Caller) -> None:
    run = asked(caller)
    sent = parts({"type": "image_url", "image_url": {"url": "http://169.254.169.254/latest/a.png"}})
    assert hand_in(caller, run, sent).status == 202
    (held,) = attempts_of(caller, run)[0]["attachments"]
    assert (held["url"], held["attachment"]) == ("http://169.254.169.254/latest/a.png", None)
    assert not Attachment.objects.exists()


@pytest.mark.parametrize(
    "sent",
    [
        {"type": "image_file", "image_file": {"file_id": "file-1"}},
        {"type": "image", "source": {"type": "file", "file_id": "file-1"}},
        {"type": "image_url", "image_url": {"url": "javascript:alert(1)"}},
        {"type": "note", "data": "anything at all"},
        {"type": "image", "source": {"type": "base64", "data": ""}},
    ],
)
def test_what_names_neither_bytes_nor_a_link_holds_nothing(sent: dict[str, Any]) -> None:
    assert not media_of_parts([sent])


def test_the_same_bytes_are_kept_once_in_a_project_and_once_in_another(caller: Caller) -> None:
    first, second = asked(caller), asked(caller)
    assert hand_in(caller, first, parts(part(png()), part(png()))).status == 202
    assert hand_in(caller, second, parts(part(png()))).status == 202
    assert Attachment.objects.count() == 1
    assert AttemptAttachment.objects.count() == 3
    assert upload(caller, png()).body["id"] == str(Attachment.objects.get().pk)
    assert upload(given.caller(), png()).status == 201
    assert Attachment.objects.count() == 2


def test_an_attempt_handed_in_again_is_the_same_only_with_the_same_files(caller: Caller) -> None:
    run = asked(caller)
    first, other = png(says="a"), png(says="b")
    assert hand_in(caller, run, parts(part(first)), attempt=1).status == 202
    assert hand_in(caller, run, parts(part(first)), attempt=1).status in {200, 202}
    then.refused(hand_in(caller, run, parts(part(other)), attempt=1), 409)
    assert AttemptAttachment.objects.count() == 1


def test_what_was_uploaded_is_named_by_its_id(caller: Caller) -> None:
    kept = upload(caller, pdf(3), name="Bericht.pdf", claims="text/html")
    assert kept.status == 201
    assert kept.headers["location"] == f"/api/v1/attachments/{kept.body['id']}"
    assert (kept.body["media_type"], kept.body["pages"], kept.body["name"]) == ("application/pdf", 3, "Bericht.pdf")
    run = asked(caller)
    assert hand_in(caller, run, parts({"type": "attachment", "id": kept.body["id"]})).status == 202
    (attempt,) = attempts_of(caller, run)
    assert attempt["content"] == f"Here it is:\n[attachment, {kept.body['id']}]"
    assert attempt["attachments"][0]["attachment"]["id"] == kept.body["id"]
    assert attempt["attachments"][0]["name"] == "Bericht.pdf"


@pytest.mark.parametrize("named", ["01890a5d-ac96-774b-bcce-b302099a8057", "no id", None])
def test_an_upload_that_is_not_there_is_refused(caller: Caller, named: Any) -> None:
    run = asked(caller)
    answer = hand_in(caller, run, parts("words", {"type": "attachment", "id": named}))
    then.refused(answer, 400)
    assert then.named_fields(answer) == ["content.2"]
    assert not Attempt.objects.filter(run=run).exists()


def test_another_projects_upload_is_not_there(caller: Caller) -> None:
    other = upload(given.caller(), png()).body["id"]
    answer = hand_in(caller, asked(caller), parts({"type": "attachment", "id": other}))
    then.refused(answer, 400)
    for path in (f"attachments/{other}", f"attachments/{other}/content"):
        then.refused(caller.get(path), 404)


def test_too_many_files_are_refused(caller: Caller) -> None:
    answer = hand_in(caller, asked(caller), parts(*[part(png())] * 21))
    then.refused(answer, 400)
    assert "at most 20" in answer.body["errors"][0]["message"]
    assert not Attachment.objects.exists()


def test_a_file_of_more_than_the_limit_is_refused(caller: Caller, settings: Settings) -> None:
    settings.ATTACHMENT_MAX_MB = 1
    answer = upload(caller, png() + b"\0" * 1_000_000)
    then.refused(answer, 400)
    assert then.named_fields(answer) == ["file"]
    assert "larger than 1 MB" in answer.body["detail"]
    answer = hand_in(caller, asked(caller), parts(part(png() + b"\0" * 1_000_000)))
    then.refused(answer, 400)
    assert then.named_fields(answer) == ["content.1"]
    assert not Attachment.objects.exists()


def test_a_project_has_room_for_so_much(caller: Caller, settings: Settings) -> None:
    settings.ATTACHMENTS_PROJECT_MB = 1
    assert upload(caller, b"a" * 600_000).status == 201
    answer = upload(caller, b"b" * 600_000)
    then.refused(answer, 400)
    assert "MB is reached. Nothing was saved." in answer.body["detail"]
    # What is there already takes no more room.
    assert upload(caller, b"a" * 600_000).status == 201


@pytest.mark.parametrize(
    "field",
    ['Content-Disposition: form-data; name="file"', 'Content-Disposition: form-data; name="other"; filename="a.png"'],
)
def test_a_form_without_just_one_file_is_refused(caller: Caller, field: str) -> None:
    answer = upload(caller, png(), field=field)
    then.refused(answer, 400)
    assert then.named_fields(answer) == ["file"]
