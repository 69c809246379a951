"""Attempts whose files a model looks at: sent back with the file, and passed by no word of it."""

import pytest

from reflection_app.attachments.models import Attachment
from reflection_app.attachments.regions import check_regions
from reflection_app.loops.verdicts import Issue
from reflection_app.runs.advance import advance
from reflection_app.runs.models import Attempt, Run, Verdict
from tests.api.caller import Caller
from tests.attachments.produced import file_part
from tests.pictures import png
from tests.repairs.looked import CHART, eyes, seen
from tests.runs.critiques import critique
from tests.runs.test_attempts import asked

pytestmark = pytest.mark.django_db

APPROVED = {f"attempt-{number}/critique": critique(90, approved=True) for number in (1, 2)}


def asked_for_chart(caller: Caller, *, model: str) -> Run:
    caller.project.models_by_role = {"vision": model}
    caller.project.save(update_fields=["models_by_role"])
    requirements = {"files": [{"path": "chart.png", "kind": "image", "shows": CHART}]}
    return asked(caller, APPROVED, mode="actor_critic", objective="Draw the sales.", requirements=requirements)


def hand_in(caller: Caller, run: Run, picture: bytes, *, attempt: int = 1) -> None:
    content = ["Here is the chart.", file_part(picture, name="chart.png")]
    assert caller.post(f"runs/{run.pk}/attempts", {"content": content, "attempt": attempt}).status == 202
    advance(run.pk)


def verdicts_of(run: Run) -> list[str]:
    return [row.verdict for row in Verdict.objects.filter(attempt__run=run).order_by("created_at", "id")]


def test_a_chart_without_its_legend_is_sent_back_and_the_next_one_passes(
    caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = iter([{"holds": "no"}, {"holds": "yes"}])
    with eyes(lambda text: seen(text, **next(said)), monkeypatch) as model:
        run = asked_for_chart(caller, model=model.model)
        hand_in(caller, run, png(400, 200))
        assert verdicts_of(run) == ["REVISE"], "though the critic approved"
        asks = caller.get(f"runs/{run.pk}").body["next"]
        (issue,) = asks["ticket"]["issues"]
        assert CHART in issue["description"]
        assert issue["region"] == {"attachment": str(Attachment.objects.get().pk), "fragment": ""}
        assert CHART in asks["messages"][-1]["content"]
        check_regions([Issue.model_validate(issue)], of=[Attempt.objects.get(run=run)])

        hand_in(caller, run, png(400, 200, colour=(0, 0, 90)), attempt=2)
        run.refresh_from_db()
    assert (run.outcome, verdicts_of(run)) == ("succeeded", ["REVISE", "PASS"])
