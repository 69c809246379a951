"""The search page, the part of it that a dialog shows, and the lists that its links lead to."""

import re

import pytest
from django.test import Client

from tests import given
from tests.search.things import make_things

pytestmark = pytest.mark.django_db
DIALOG = {"HX-Request": "true", "HX-Target": "search-options"}


def test_results_are_options_in_the_dialog_and_plain_links_on_the_page(client: Client) -> None:
    things = make_things("parts")
    client.force_login(given.member(things.project))
    part = client.get("/p/parts/search/", {"q": "kettle"}, headers=DIALOG).text
    assert "<html" not in part
    ids = re.findall(r'role="option" id="([\w-]+)"', part)
    assert len(ids) == len(set(ids)) == part.count("<a ") == 8
    assert 'data-asked="kettle"' in part
    swapped = client.get("/p/parts/search/", {"q": "kettle"}, headers={"HX-Request": "true"}).text
    assert "data-results" in swapped
    assert "role=" not in swapped.replace('role="img"', "")


def test_a_list_shows_all_that_a_search_finds(client: Client) -> None:
    things = make_things("listed")
    client.force_login(given.member(things.project))
    lists = {"runs": "runs", "tickets": "tickets", "reports": "reports", "transcripts": "sessions"}
    lists |= {"tools/failures": "failures"}
    for path, called in lists.items():
        found, none = (client.get(f"/p/listed/{path}/", {"q": word}) for word in ("kettle", "teapot"))
        assert len(found.context[called]) == (2 if path == "runs" else 1)
        assert len(none.context[called]) == 0
        assert "teapot" in none.text
    [row] = client.get("/p/listed/reviews/", {"q": "kettle judg"}).context["rows"]
    assert row.review.pk == things.review.pk


def test_what_was_found_is_escaped(client: Client) -> None:
    project = given.project("marked")
    given.submitted_run(project, objective="<script>alert(1)</script> kettle", external_id='"><b>')
    client.force_login(given.member(project))
    page = (
        client.get("/p/marked/search/", {"q": 'kettle"><i>'}).text
        + client.get("/p/marked/search/", {"q": "kettle"}).text
    )
    assert "<script>alert" not in page
    assert "<b>" not in page
    assert "<i>" not in page


def test_a_link_leads_to_all_of_a_kind(client: Client) -> None:
    project = given.project("many")
    for number in range(7):
        given.submitted_run(project, objective=f"Boil kettle {number}")
    client.force_login(given.member(project))
    page = client.get("/p/many/search/", {"q": "kettle & boil"}).text
    assert "View all 7 in “Runs”" in page
    link = re.search(r'found-all" href="([^"]+)"', page)
    assert link
    assert len(client.get(link[1]).context["runs"]) == 7
