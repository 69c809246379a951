"""Labels over REST, and the calibration figures that they feed."""

import pytest

from reflection_app.core.models import Scope
from reflection_app.metrics.models import CriticJudgement, JudgementImport
from tests import given
from tests.api.caller import Caller
from tests.metrics.judgements import label, lines
from tests.reviews.reviewed import criticised, decide, review_of

pytestmark = pytest.mark.django_db


def test_csv_is_imported(admin: Caller) -> None:
    content = 'item,model,critic_verdict,person_verdict,confidence\na,gpt,PASS,REVISE,0.8\n"b, c",gpt,PASS,PASS,\n'
    done = admin.post("metrics/calibration/labels", {"name": "May", "content": content})
    batch = JudgementImport.objects.get()
    assert (done.status, done.body) == (201, {"id": str(batch.pk), "name": "May", "rows": 2})
    stored = CriticJudgement.objects.values_list("item__external_id", "verdict", "confidence")
    assert sorted(stored) == [("a", "PASS", 0.8), ("b, c", "PASS", None)]


def test_calibration_tells_every_figure_with_its_interval(admin: Caller) -> None:
    rows = [label(f"a{number}", confidence=0.9) for number in range(5)]
    rows += [label(f"b{number}", person="REJECT", confidence=0.7) for number in range(2)]
    rows += [label(f"c{number}", verdict="REJECT", person="REJECT") for number in range(3)]
    admin.post("metrics/calibration/labels", {"content": lines(rows).decode()})
    reader = given.caller(admin.project, [Scope.METRICS_READ])
    found = reader.get("metrics/calibration").body
    [critic] = found["critics"]
    assert (critic["source"], critic["model"], critic["pairs"]) == ("imported", "gpt", 10)
    assert critic["agreed"]["estimate"] == pytest.approx(0.8)
    assert critic["kappa"]["estimate"] == pytest.approx((0.8 - 0.5) / 0.5)
    assert critic["kappa"]["low"] < 0.6 < critic["kappa"]["high"]
    assert critic["precision"]["estimate"] == pytest.approx(5 / 7)
    assert critic["recall"]["estimate"] == 1
    assert critic["false_pass"]["estimate"] == pytest.approx(2 / 5)
    seen = {(cell["critic"], cell["people"]): cell["seen"] for cell in critic["matrix"]}
    assert (seen["PASS", "PASS"], seen["PASS", "REJECT"], seen["REJECT", "REJECT"], len(seen)) == (5, 2, 3, 9)
    assert [one["seen"] for one in critic["reliability"]["bins"]] == [2, 5]
    assert critic["reliability"]["error"] == pytest.approx(5 / 7 * 0.1 + 2 / 7 * 0.7)
    assert (found["waiting"], found["split_items"], found["unjudged_items"]) == (0, 0, 0)


@pytest.mark.django_db(transaction=True)
def test_the_desks_own_verdicts_are_told_with_what_still_waits() -> None:
    reader = given.caller(scopes=[Scope.METRICS_READ])
    decide(review_of(criticised(reader.project)))
    criticised(reader.project)
    found = reader.get("metrics/calibration").body
    assert [(one["source"], one["pairs"]) for one in found["critics"]] == [("desk", 1)]
    assert found["waiting"] == 1
    assert given.caller(scopes=[Scope.METRICS_READ]).get("metrics/calibration").body["critics"] == []
