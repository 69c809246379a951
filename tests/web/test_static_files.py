"""What pages ask for besides themselves, and how they are sent."""

import gzip
import os
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.staticfiles.finders import find
from django.test import Client

from reflection_app.web.stylesheet import ORDER, sources
from tests import given

ACCEPTS = {"accept-encoding": "gzip"}


def test_every_part_stands_in_the_one_stylesheet() -> None:
    folder = settings.BASE_DIR / "static" / "css"
    assert sorted(ORDER) == sorted(file.stem for file in folder.glob("*.css"))
    text = Path(str(find("css/desk.css"))).read_text()
    assert text.startswith("@layer reset, tokens, base, components, utilities;")
    assert all(part.read_text() in text for part in sources())


def test_the_stylesheet_follows_its_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "DATA_DIR", tmp_path)
    monkeypatch.setattr(settings, "BASE_DIR", tmp_path)
    monkeypatch.setattr("reflection_app.web.stylesheet.ORDER", ["tokens", "base"])
    part = tmp_path / "static" / "css" / "base.css"
    part.parent.mkdir(parents=True)
    part.with_name("tokens.css").write_text("tokens")
    for text in ("base", "changed"):
        part.write_text(text)
        made = Path(str(find("css/desk.css")))
        assert made.read_text() == f"tokens\n{text}"
        # Older than any part that is written from now on, however coarse the clock of files is.
        os.utime(made, (0, 0))


@pytest.mark.django_db
def test_pages_are_compressed_with_a_length_that_tells_nothing() -> None:
    client = Client(headers=ACCEPTS)
    client.force_login(given.member(given.project("first")))
    answers = [client.get("/p/first/") for _ in range(8)]

    assert {answer.headers["Content-Encoding"] for answer in answers} == {"gzip"}
    assert all("Accept-Encoding" in answer.headers["Vary"] for answer in answers)
    assert b"<!doctype html>" in gzip.decompress(answers[0].content)
    # The tokens of forms differ each time, and so does the padding.
    assert len({len(answer.content) for answer in answers}) > 1


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/account/two-factor/", "/api/v1/schema", "/static/css/desk.css"])
def test_secrets_answers_to_programs_and_files_are_not_compressed_on_the_way(path: str) -> None:
    client = Client(headers=ACCEPTS)
    client.force_login(given.member(given.project("first")))
    answer = client.get(path)
    answer.close()
    assert answer.status_code == 200
    assert "Content-Encoding" not in answer.headers


@pytest.mark.django_db
def test_the_answer_to_a_form_is_not_compressed() -> None:
    answer = Client(headers=ACCEPTS).post("/login/", {"username": "nobody", "password": "wrong"})
    assert "Content-Encoding" not in answer.headers
    assert b"<!doctype html>" in answer.content
