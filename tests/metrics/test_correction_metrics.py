"""How often people corrected the desk: on the page, over REST and as a file, of one project and period."""

import csv
import io
from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client

from reflection_app.core.models import Project, Role, Scope
from reflection_app.loops.protocol.error_classes import ErrorClass, FailureFacts
from reflection_app.metrics.correction_figures import correction_figures
from reflection_app.metrics.definitions import FIGURES, OF_LABELS, Chosen
from reflection_app.metrics.models import Label, LabelKind
from reflection_app.metrics.statistics import wilson
from tests.api.caller import assert_problem, make_caller
from tests.factories import make_project
from tests.metrics.labelled import label
from tests.repairs.reports import begun_run, kept_report
from tests.repairs.tool_failures import remedy_of
from tests.repairs.tool_failures import report as report_failure
from tests.web.stories import logged_in

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)
PERIOD = {"since": "2026-03-04", "until": "2026-03-04"}
READS = [Scope.METRICS_READ.value]


def judged(project: Project, *, right: int, wrong: int, at: datetime = NOON) -> None:
    for said in ["same"] * right + ["different"] * wrong:
        label(project, LabelKind.SAME_MISTAKE, "same", said, created_at=at)


def test_each_kind_has_a_figure_with_words_and_a_definition() -> None:
    assert [one.name for one in OF_LABELS] == [f"corrected_{kind.value}" for kind in LabelKind]
    assert all(one.label and one.meaning and one.formula for one in OF_LABELS)


def test_it_is_the_share_of_what_was_judged_with_its_interval_in_that_period_and_project() -> None:
    project = make_project()
    judged(project, right=6, wrong=2)
    judged(project, right=1, wrong=1, at=NOON - timedelta(days=1))
    judged(make_project(), right=0, wrong=5)
    found = correction_figures(project.pk, Chosen(since=NOON.date(), until=NOON.date()))
    one, bounds = found.figures["corrected_same_mistake"], wilson(2, 8)
    assert bounds is not None
    assert (one.value, one.of, one.low, one.high) == (0.25, 8, bounds.low, bounds.high)
    assert (found.before["corrected_same_mistake"].value, found.before["corrected_same_mistake"].of) == (0.5, 2)
    assert (found.figures["corrected_proposal"].value, found.figures["corrected_proposal"].of) == (None, 0)


def test_rest_and_the_table_tell_the_same() -> None:
    caller = make_caller(scopes=READS)
    judged(caller.project, right=3, wrong=1)
    body = caller.get("metrics/corrections", **PERIOD).body
    told = body["figures"]["corrected_same_mistake"]
    assert (told["value"], told["of"], told["unit"], body["keeps_labels"]) == (0.25, 4, "share", True)
    assert body["definitions"].keys() == body["figures"].keys()
    lines = list(csv.reader(io.StringIO(caller.get("metrics/corrections.csv", **PERIOD).body.decode())))
    [line] = [line for line in lines if line[:2] == ["figure", "corrected_same_mistake"]]
    assert (line[4], line[6]) == ("0.25", "4")
    assert_problem(make_caller(scopes=[Scope.RUNS_READ.value]).get("metrics/corrections"), 403)
    assert_problem(caller.get("metrics/corrections", mode="adaptive"), 400)


def test_the_page_shows_what_was_judged_and_offers_it_as_files(client: Client) -> None:
    project = make_project("corrected")
    judged(project, right=3, wrong=1)
    page = logged_in(client, project).get("/p/corrected/metrics/corrections/", PERIOD).text
    assert str(FIGURES["corrected_same_mistake"].label) in page
    assert "25 %" in page
    for form in ("csv", "json"):
        file = client.get(f"/p/corrected/metrics/corrections.{form}", PERIOD)
        assert (file.status_code, "corrected_same_mistake" in file.text) == (200, True)


def test_an_empty_page_says_what_it_needs(client: Client) -> None:
    logged_in(client, make_project("empty"))
    assert "find the class of a report right or correct it" in " ".join(
        client.get("/p/empty/metrics/corrections/").text.split()
    )
    Project.objects.update(notebook={"keeps_labels": False})
    assert "This project keeps nothing of what people say" in client.get("/p/empty/metrics/corrections/").text


def test_whether_labels_are_kept_is_set_over_rest_and_on_the_page(client: Client) -> None:
    caller = make_caller(scopes=[Scope.ADMIN.value])
    project = caller.project
    judged(project, right=1, wrong=1)
    assert caller.get("labels/settings").body == {"keeps_labels": True}
    told = caller.call("PUT", "labels/settings", data='{"keeps_labels": false}')
    assert (told.status, told.body) == (200, {"keeps_labels": False})
    assert not Label.objects.exists()
    assert_problem(caller.call("PUT", "labels/settings", data='{"keeps_labels": "no"}'), 400)
    reader = make_caller(project, [Scope.METRICS_READ.value])
    assert_problem(reader.call("PUT", "labels/settings", data='{"keeps_labels": true}'), 403)
    page = f"/p/{project.slug}/settings/notebook/"
    typed = {"most": "5", "holdout_share": "0.1", "rules_most": "10", "rules_least_occurrences": "1"}
    logged_in(client, project)
    assert 'name="keeps_labels" checked' not in client.get(page).text
    client.post(page, typed | {"keeps_labels": "on"})
    assert Project.objects.get(pk=project.pk).get_notebook().keeps_labels
    assert 'name="keeps_labels" checked' in client.get(page).text


@pytest.mark.django_db(transaction=True)
def test_a_class_is_found_right_and_a_diagnosis_judged_on_their_pages_and_over_rest(client: Client) -> None:
    caller = make_caller(scopes=[Scope.REVIEWS_WRITE.value, Scope.RUNS_READ.value])
    project = caller.project
    logged_in(client, project, role=Role.REVIEWER)
    facts = FailureFacts(is_completed=False)
    report = kept_report(begun_run(project), type=ErrorClass.DECISION_ERROR, facts=facts)
    failure = report_failure(project)
    client.post(f"/p/{project.slug}/reports/{report.reflection_id}/class/confirm/")
    address = f"/p/{project.slug}/tools/failures/{failure.pk}/"
    page = client.get(address).text
    assert all(words in page for words in ("Is this diagnosis right?", "wrong parameters", "use another tool"))
    refused = client.post(f"{address}diagnosis/", {"error_type": "parameter_error", "remedy": "skip"})
    assert (refused.status_code, "Say what is to be done." in refused.text) == (400, True)
    client.post(f"{address}diagnosis/", {"error_type": "parameter_error", "remedy": remedy_of(failure)})
    assert "judged this diagnosis" in client.get(address).text
    assert "found 3.3.2 right" in " ".join(
        client.get(f"/p/{project.slug}/reports/{report.reflection_id}/").text.split()
    )
    said = dict(Label.objects.values_list("kind", "is_corrected"))
    assert said == {"error_class": False, "tool_error": True}

    answer = caller.post(f"reports/{report.reflection_id}/class/confirm", {})
    assert (answer.status, answer.body["type"]) == (200, "3.3.2")
    judgement = {"error_type": "wrong_tool", "remedy": "switch_tool", "action": "Ask the almanac."}
    answer = caller.post(f"tool-failures/{failure.pk}/diagnosis", judgement)
    assert answer.status == 200
    assert Label.objects.count() == 2, "what a key says is kept of no claim"


def test_whoever_only_reads_judges_nothing(client: Client) -> None:
    project = make_project("read")
    failure = report_failure(project)
    logged_in(client, project, role=Role.VIEWER)
    address = f"/p/read/tools/failures/{failure.pk}/"
    assert "Is this diagnosis right?" not in client.get(address).text
    typed = {"error_type": "parameter_error", "remedy": remedy_of(failure)}
    assert client.post(f"{address}diagnosis/", typed).status_code == 403
