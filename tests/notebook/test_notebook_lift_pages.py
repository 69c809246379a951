"""The lift of lessons as pages show it: what may be said, what may not yet, and the way to retire what harms."""

import re
from uuid import uuid4

import pytest
from django.test import Client

from notebook_app.exposures import sum_recalls
from notebook_app.kinds import EntryState
from notebook_app.lift_list import lift_of, lift_of_all
from notebook_app.models import Entry, Exposure
from reflection_app.core.models import Project, Role
from tests import given
from tests.notebook.exposed import approved_lesson, draw, fill, row_of

pytestmark = pytest.mark.django_db
LIFT = "/p/desk/notebook/lift/"


@pytest.fixture
def harmful(project: Project) -> Entry:
    lesson = approved_lesson(project.pk, "Always answer in one word")
    fill(lesson, given=(20, 90), withheld=(20, 20))
    return lesson


def words_of(page: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", page).split())


def test_what_harms_is_said_with_its_figures_and_can_be_retired(
    client: Client, project: Project, harmful: Entry
) -> None:
    approved_lesson(project.pk, "Nobody was given this one")
    page = given.logged_in(client, project, Role.CURATOR).get(LIFT).text
    said = words_of(page)
    assert "Retirement suggestions" in said
    assert "Harms analysis at n = 20 At the interim analysis with 20 outcomes in the smaller group." in said
    assert "22 % 20 of 90" in said
    assert "−78" in said
    reason = re.search(r'name="reason"[^>]*value="([^"]*)"', page)
    assert reason is not None
    assert "First attempts succeeded less often with it: −78 points" in reason[1]

    answer = client.post(
        f"/p/desk/notebook/entries/{harmful.id}/curate/",
        {"act": "retire", "reason": reason[1], "version": row_of(harmful).version, "from": "lift"},
    )
    assert answer.status_code == 302
    row = row_of(harmful)
    assert (row.state, row.reason) == ("retired", reason[1])
    assert "Retirement suggestions" not in client.get(LIFT).text
    assert harmful.name in client.get(f"{LIFT}?state=retired").text


def test_nothing_is_said_between_looks_however_it_looks(client: Client, project: Project) -> None:
    lesson = approved_lesson(project.pk)
    fill(lesson, given=(0, 9), withheld=(9, 9))
    said = words_of(given.logged_in(client, project).get(LIFT).text)
    assert re.search("Not significant yet (about \\d+ more runs|1 more run) Needs about", said)
    assert "if the true difference is as large as observed (−100 points)" in said
    assert "Retirement suggestions" not in said
    assert "−100" in said


def test_lessons_are_sorted_searched_and_filtered(client: Client, project: Project, harmful: Entry) -> None:
    good = approved_lesson(project.pk, "Check the units")
    fill(good, given=(90, 90), withheld=(2, 20))
    quiet = approved_lesson(project.pk, "Ask for the date")
    given.logged_in(client, project)

    def order(query: str) -> list[str]:
        rows = client.get(f"{LIFT}?{query}").text.partition("<tbody>")[2]
        places = {lesson.name: rows.find(f"entries/{lesson.id}/#lift") for lesson in (harmful, good, quiet)}
        return sorted((name for name, place in places.items() if place >= 0), key=lambda name: places[name])

    assert order("") == [harmful.name, good.name, quiet.name]
    assert order("sort=high") == [good.name, harmful.name, quiet.name]
    assert order("sort=low") == [harmful.name, good.name, quiet.name]
    assert order("sort=name") == [harmful.name, quiet.name, good.name]
    assert order("claim=helps") == [good.name]
    assert order("q=units") == [good.name]
    assert order("q=units&claim=harms") == []
    # What is not understood is left out.
    assert order("claim=nonsense&sort=7&page=x&state=b") == [harmful.name, good.name, quiet.name]
    assert order("page=2") == []


def test_the_entrys_page_shows_its_lift_and_leads_to_the_runs(client: Client, project: Project) -> None:
    lesson = approved_lesson(project.pk)
    run = given.submitted_run(project, objective="Name seven tariffs.")
    draw(project.pk, str(run.pk), [lesson], draws=[0.5])
    elsewhere = given.submitted_run(given.project("elsewhere"), objective="Not for you")
    draw(project.pk, str(elsewhere.pk), [lesson], draws=[0.01])
    draw(project.pk, given.HOSTILE[:200], [lesson], draws=[0.5], is_counted=False)
    given.logged_in(client, project)
    page = client.get(f"/p/desk/notebook/entries/{lesson.id}/").text
    assert "No counted outcomes yet." in page
    assert f'href="/p/desk/runs/{run.pk}/">Name seven tariffs.</a>' in page
    assert "Not for you" not in page
    assert "not counted" in page
    assert "<script>alert" not in page
    fill(lesson, given=(40, 90), withheld=(9, 10))
    assert (
        "Next analysis: 20 outcomes in the smaller group." in client.get(f"/p/desk/notebook/entries/{lesson.id}/").text
    )


def test_what_was_drawn_with_nothing_withheld_or_not_counted_is_left_out(project: Project) -> None:
    lesson = approved_lesson(project.pk)
    draw(project.pk, "a fork", [lesson], draws=[0.5], is_counted=False)
    draw(project.pk, "no draw", [lesson], draws=[0.5])
    Exposure.objects.filter(subject="no draw").update(share=0.0)
    Exposure.objects.update(succeeded=True)
    assert lift_of(project.pk, lesson.id).total == 0
    fill(lesson, given=(3, 9), withheld=(1, 1))
    assert lift_of(project.pk, lesson.id).total == 10
    assert lift_of(uuid4(), lesson.id).total == 0
    sum_recalls()
    (only,) = lift_of_all(project.pk)
    assert (only.measured.given.successes, only.recalled, only.state) == (3, 11, EntryState.APPROVED)
