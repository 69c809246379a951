"""The bytes of attachments over HTTP: taken for what they are, by those who may read the run, and for nothing else."""

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from reflection_app.attachments.keeping import upload
from reflection_app.attachments.models import Attachment
from reflection_app.core.audit import Actor
from reflection_app.core.models import Project, Role
from tests import given
from tests.attachments.samples import bomb, pdf, png, wav

pytestmark = pytest.mark.django_db
SVG = b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"


@pytest.fixture
def viewer(client: Client, project: Project) -> Client:
    return given.logged_in(client, project, Role.VIEWER)


def kept(project: Project, content: bytes, name: str = "a.png") -> Attachment:
    return upload(project, content, name=name, actor=Actor())


def address_of(attachment: Attachment) -> str:
    return reverse("attachment", args=[attachment.project.slug, attachment.pk])


def asked(client: Client, attachment: Attachment, **headers: str) -> HttpResponse:
    response: HttpResponse = client.get(address_of(attachment), headers=headers)  # type: ignore[assignment]
    return response


def test_a_picture_is_shown_as_what_it_is_and_may_run_nothing(viewer: Client, project: Project) -> None:
    response = asked(viewer, kept(project, png(), name="page.html"))
    assert (response.status_code, response.content) == (200, png())
    assert response["Content-Type"] == "image/png"
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Content-Security-Policy"] == "sandbox; default-src 'none'"
    assert response["Cross-Origin-Resource-Policy"] == "same-origin"
    assert response["Content-Disposition"] == 'inline; filename="page.html.png"'
    assert response["Cache-Control"] == "private, max-age=86400, immutable"


@pytest.mark.parametrize("content", [SVG, b"<!doctype html><script>alert(1)</script>", b"%!PS", b"MZ", bomb()])
def test_whatever_else_is_saved_and_never_shown(viewer: Client, project: Project, content: bytes) -> None:
    response = asked(viewer, kept(project, content, name="a.svg"))
    assert response["Content-Type"] == "application/octet-stream"
    assert response["Content-Disposition"].startswith("attachment;")
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Content-Security-Policy"] == "sandbox; default-src 'none'"


def test_a_pdf_is_shown_without_leave_for_anything(viewer: Client, project: Project) -> None:
    response = asked(viewer, kept(project, pdf(), name="a"))
    assert response["Content-Type"] == "application/pdf"
    assert response["Content-Disposition"] == 'inline; filename="a.pdf"'
    # In a frame of the desk's own pages, and of nobody else's; pictures in none at all.
    assert response["X-Frame-Options"] == "SAMEORIGIN"
    assert "frame-ancestors 'self'" in response["Content-Security-Policy"]
    assert asked(viewer, kept(project, png(), name="b"))["X-Frame-Options"] == "DENY"
    assert "default-src 'none'" in response["Content-Security-Policy"]
    assert "script-src" not in response["Content-Security-Policy"]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("../../etc/passwd", "passwd.png"),
        ("C:\\temp\\a.png", "a.png"),
        ("a\r\nSet-Cookie: x=1.png", "a Set-Cookie: x=1.png"),
        ("evil\u202egnp.exe", "evilgnp.exe.png"),
        ("\u0000\u200b.png", "png.png"),
        ("", ""),
    ],
)
def test_names_of_senders_are_cleaned(project: Project, name: str, shown: str) -> None:
    attachment = kept(project, png(), name=name)
    assert attachment.name == shown


def test_a_name_breaks_no_header(viewer: Client, project: Project) -> None:
    response = asked(viewer, kept(project, png(), name='销售"\r\nX-Evil: 1\\.png'))
    assert "X-Evil" not in response
    assert "\n" not in response["Content-Disposition"]
    assert response["Content-Disposition"].startswith("inline; filename")


@pytest.mark.parametrize(
    ("wanted", "told", "piece"),
    [
        ("bytes=0-3", (206, "bytes 0-3/{size}"), slice(0, 4)),
        ("bytes=10-", (206, "bytes 10-{last}/{size}"), slice(10, None)),
        ("bytes=-5", (206, "bytes {fifth}-{last}/{size}"), slice(-5, None)),
        ("bytes=5-2", (200, None), slice(None)),
        ("bytes=0-1,4-5", (200, None), slice(None)),
        ("bytes=999999-", (416, "bytes */{size}"), slice(0)),
        ("bytes=-0", (416, "bytes */{size}"), slice(0)),
    ],
)
def test_a_range_of_a_sound_is_answered(
    viewer: Client, project: Project, wanted: str, told: tuple[int, str | None], piece: slice
) -> None:
    status, said = told
    sound = wav()
    response = asked(viewer, kept(project, sound, name="a.wav"), Range=wanted)
    assert response.status_code == status
    assert response.content == sound[piece]
    assert response["Accept-Ranges"] == "bytes"
    there = said and said.format(size=len(sound), last=len(sound) - 1, fifth=len(sound) - 5)
    assert response.get("Content-Range") == there


def test_what_a_browser_has_is_not_sent_again(viewer: Client, project: Project) -> None:
    attachment = kept(project, png())
    etag = asked(viewer, attachment)["ETag"]
    assert asked(viewer, attachment, **{"If-None-Match": etag}).status_code == 304
    assert asked(viewer, attachment, **{"If-Range": '"other"', "Range": "bytes=0-3"}).status_code == 200
    assert asked(viewer, attachment, **{"If-Range": etag, "Range": "bytes=0-3"}).status_code == 206


def test_a_member_of_another_project_and_a_stranger_find_nothing(client: Client, project: Project) -> None:
    attachment = kept(project, png())
    assert asked(client, attachment).status_code == 302
    other = given.project()
    given.logged_in(client, other)
    assert asked(client, attachment).status_code == 404
    assert client.get(reverse("attachment", args=[other.slug, attachment.pk])).status_code == 404
    assert client.post(address_of(attachment)).status_code == 404
    assert given.logged_in(client, project).post(address_of(attachment)).status_code == 405
