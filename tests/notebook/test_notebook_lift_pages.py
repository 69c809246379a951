"""The lift of lessons as pages show it: what may be said, what may not yet, and the way to retire what harms."""

import re
from uuid import uuid4

import pytest
from django.test import Client

from notebook_app.exposures import sum_recalls
from notebook_app.kinds import EntryState
from notebook_app.lift_list import exposures_of, lift_of, lift_of_all
from notebook_app.models import Entry, Exposure
from reflection_app.core.models import Project, Role, Scope
from tests import given, then
from tests.api.caller import Answer, Caller
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
    page = given.logged_in(client, project, Role.CURATOR).get(LIFT).text
    assert "22 % 20 of 90" in words_of(page)
    reason = re.search(r'name="reason"[^>]*value="([^"]*)"', page)
    assert reason is not None
    client.post(
        f"/p/desk/notebook/entries/{harmful.id}/curate/",
        {"act": "retire", "reason": reason[1], "version": row_of(harmful).version, "from": "lift"},
    )
    row = row_of(harmful)
    assert (row.state, row.reason) == ("retired", reason[1])
    assert harmful.name not in client.get(LIFT).text
    assert harmful.name in client.get(f"{LIFT}?state=retired").text


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


def test_nothing_is_said_between_looks_however_it_looks(client: Client, project: Project) -> None:
    fill(approved_lesson(project.pk), given=(0, 9), withheld=(9, 9))
    said = words_of(given.logged_in(client, project).get(LIFT).text)
    assert re.search("Not significant yet (about \\d+ more runs|1 more run)", said)


def test_lift_comes_page_by_page_over_rest(caller: Caller) -> None:
    names = [f"Lesson {number}" for number in range(3)]
    for name in names:
        approved_lesson(caller.project.pk, name)
    first = caller.get("notebook/lift", limit=2).body
    rest = caller.get(first["next"]).body
    assert [one["name"] for one in first["results"] + rest["results"]] == names


def test_the_entrys_page_shows_its_lift_and_leads_to_the_runs(client: Client, project: Project) -> None:
    lesson = approved_lesson(project.pk)
    run = given.submitted_run(project, objective="Name seven tariffs.")
    draw(project.pk, str(run.pk), [lesson], draws=[0.5])
    elsewhere = given.submitted_run(given.project("elsewhere"), objective="Not for you")
    draw(project.pk, str(elsewhere.pk), [lesson], draws=[0.01])
    draw(project.pk, given.HOSTILE[:200], [lesson], draws=[0.5], is_counted=False)
    given.logged_in(client, project)
    page = client.get(f"/p/desk/notebook/entries/{lesson.id}/").text
    assert f'href="/p/desk/runs/{run.pk}/">Name seven tariffs.</a>' in page
    assert "Not for you" not in page
    assert "<script>alert" not in page
    fill(lesson, given=(40, 90), withheld=(9, 10))
    assert client.get(f"/p/desk/notebook/entries/{lesson.id}/").status_code == 200


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


NOTEBOOK = [Scope.NOTEBOOK_READ, Scope.NOTEBOOK_WRITE]


@pytest.fixture
def caller(db: None) -> Caller:
    return given.caller(scopes=NOTEBOOK)


def test_lift_is_told_with_arms_looks_and_claim(caller: Caller) -> None:
    harmful = approved_lesson(caller.project.pk, "A harmful one")
    quiet = approved_lesson(caller.project.pk, "Quiet")
    fill(harmful, given=(10, 90), withheld=(10, 10))
    answer = caller.get("notebook/lift")
    assert answer.status == 200
    assert answer.body["holdout_share"] == 0.1
    first, second = answer.body["results"]
    assert (first["entry_id"], first["claim"], first["next_look_at"]) == (str(harmful.id), "harms", 20)
    assert (first["given"]["outcomes"], first["given"]["successes"], first["withheld"]["outcomes"]) == (90, 10, 10)
    assert first["difference"]["low"] < first["difference"]["estimate"] < first["difference"]["high"] < 0
    (look,) = first["looks"]
    assert (look["size"], look["says"], look["p_value"] < look["level"]) == (10, "harms", True)
    assert (second["entry_id"], second["claim"], second["difference"]) == (str(quiet.id), "open", None)
    assert second["needs_runs"] == 6400


def test_exposures_name_the_runs_of_the_project(caller: Caller) -> None:
    lesson = approved_lesson(caller.project.pk)
    run = given.submitted_run(caller.project)
    draw(caller.project.pk, str(run.pk), [lesson], draws=[0.05])
    draw(caller.project.pk, "agent-7/ticket-1", [lesson], draws=[0.5], is_counted=False)
    path = f"notebook/entries/{lesson.id}/exposures"
    (newest,) = caller.get(path, limit=1).body["results"]
    assert (newest["subject"], newest["run_id"], newest["withheld"], newest["counted"]) == (
        "agent-7/ticket-1",
        None,
        False,
        False,
    )
    (oldest,) = caller.get(caller.get(path, limit=1).body["next"]).body["results"]
    assert (oldest["run_id"], oldest["withheld"], oldest["draw"]) == (str(run.pk), True, 0.05)
    assert oldest["succeeded"] is None
    then.refused(given.caller(scopes=NOTEBOOK).get(path), 404)


def test_an_outside_agent_tells_corrects_and_takes_back(caller: Caller) -> None:
    lesson = approved_lesson(caller.project.pk)
    draw(caller.project.pk, "ticket-1", [lesson, approved_lesson(caller.project.pk)], draws=[0.5, 0.01])
    for succeeded in (True, False, None, True):
        answer = caller.post("notebook/outcomes", {"for": "ticket-1", "succeeded": succeeded})
        assert answer.status == 200
        assert answer.body == {"for": "ticket-1", "succeeded": succeeded, "lessons": 2}
        (exposure,) = exposures_of(caller.project.pk, lesson.id, limit=5).exposures
        assert exposure.succeeded is succeeded
    assert lift_of(caller.project.pk, lesson.id).given.successes == 1


def test_what_is_no_work_of_the_agents_own_is_refused(caller: Caller) -> None:
    lesson = approved_lesson(caller.project.pk)
    run = given.submitted_run(caller.project)
    other = given.caller(scopes=NOTEBOOK)
    draw(caller.project.pk, str(run.pk), [lesson], draws=[0.5])
    draw(caller.project.pk, "ticket-1", [lesson], draws=[0.5])

    def told(by: Caller, **body: object) -> Answer:
        return by.post("notebook/outcomes", body)

    then.refused(told(caller, **{"for": str(run.pk), "succeeded": True}), 409)
    then.refused(told(caller, **{"for": str(run.pk).upper(), "succeeded": True}), 409)
    then.refused(told(caller, **{"for": "ticket-2", "succeeded": True}), 404)
    then.refused(told(caller, **{"for": str(uuid4()), "succeeded": True}), 404)
    then.refused(told(other, **{"for": "ticket-1", "succeeded": True}), 404)
    assert {one.succeeded for one in exposures_of(caller.project.pk, lesson.id, limit=5).exposures} == {None}
