"""Issues about a part of a file: what a fragment may say, whose file it may be, and who is told of it."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from pydantic import ValidationError

from reflection_app.attachments.models import Attachment
from reflection_app.attachments.regions import check_regions
from reflection_app.core.audit import Actor
from reflection_app.core.errors import InvalidInput
from reflection_app.core.models import Role
from reflection_app.loops.regions import Region
from reflection_app.loops.verdicts import Issue
from reflection_app.repairs.models import Ticket
from reflection_app.reviews.claiming import claim_review
from reflection_app.reviews.models import Review
from reflection_app.runs.advance import advance
from reflection_app.runs.models import Attempt
from tests import given, when
from tests.api.caller import Answer
from tests.attachments.samples import part, pdf, png, wav
from tests.reviews.review_items import handed_in

ID = "01890a5d-ac96-774b-bcce-b302099a8057"
ABOUT = {"category": "correctness", "severity": "high", "description": "The axis is cut off."}


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("xywh=percent:10,20,30.5,40", "xywh=percent:10,20,30.5,40"),
        ("10, 20, 30, 40", "xywh=percent:10,20,30,40"),
        ("page=3", "page=3"),
        (" 3 ", "page=3"),
        ("t=4,10.5", "t=4,10.5"),
        ("4 – 10 s", "t=4,10"),
        ("", ""),
    ],
)
def test_a_part_of_a_file_is_a_fragment_or_what_people_type(sent: str, kept: str) -> None:
    assert Region.model_validate({"attachment": ID, "fragment": sent}).fragment == kept


@pytest.mark.parametrize(
    "sent",
    [
        "xywh=percent:10,20,95,40",
        "xywh=10,20,30,40",
        "xywh=percent:1e1,2,3,4",
        "page=0",
        "t=10,4",
        "t=nan,5",
        "page=1&t=1,2",
        '"><script>',
        "١",
        "9" * 200,
        7,
    ],
)
def test_whatever_else_is_refused(sent: Any) -> None:
    with pytest.raises(ValidationError):
        Region.model_validate({"attachment": ID, "fragment": sent})


def test_an_issue_without_a_region_is_written_as_ever() -> None:
    assert "region" not in Issue(description="x").model_dump(mode="json")
    region = Region.model_validate({"attachment": ID, "fragment": "page=2"})
    assert Issue.model_validate(Issue(description="x", region=region).model_dump(mode="json")).region == region


@pytest.fixture
def review(db: None) -> Review:
    files = [part(png(400, 300), name="chart.png"), part(pdf(2), name="a.pdf"), part(wav(), name="a.wav")]
    return handed_in("marked", content=["Look at it.", *files])


def kept(review: Review, media_type: str) -> Attachment:
    return Attachment.objects.get(project=review.project, media_type=media_type)


def overruled(review: Review, region: Any) -> Answer:
    caller = given.caller(review.project, ["admin"], made_by=given.member(review.project, Role.ADMIN))
    held = claim_review(review, actor=Actor(api_key=caller.key))
    decision = {"lease_token": str(held.lease_token), "decision": "overrule", "verdict": "REVISE"}
    return caller.post(f"reviews/{review.pk}/decision", {**decision, "issues": [{**ABOUT, "region": region}]})


def test_the_agent_is_told_where_it_is(review: Review) -> None:
    chart = kept(review, "image/png")
    region = {"attachment": str(chart.pk), "fragment": "xywh=percent:10,20,30,40"}
    answer = overruled(review, region)
    assert answer.status == 200, answer.body
    advance(review.run_id)
    ticket = Ticket.objects.get(run=review.run_id)
    assert ticket.issues[0]["region"] == region
    assert ticket.repair_plan[0].endswith(f"(in attachment {chart.pk} at xywh=percent:10,20,30,40)")
    told = given.caller(review.project).get(f"runs/{review.run_id}").body["next"]["ticket"]
    assert told["issues"][0]["region"] == region


def test_a_part_that_the_file_has_not_is_refused(review: Review) -> None:
    of = Attempt.objects.filter(run=review.run_id)
    for media_type, fragment in (
        ("image/png", "page=1"),
        ("image/png", "t=1,2"),
        ("application/pdf", "page=3"),
        ("application/pdf", "xywh=percent:1,2,3,4"),
        ("audio/wav", "page=1"),
    ):
        region = Region(attachment=kept(review, media_type).pk, fragment=fragment)
        with pytest.raises(InvalidInput) as refused:
            check_regions([Issue(description="x", region=region)], of=of)
        assert refused.value.errors[0]["field"] == "issues.0.region.fragment"


def test_a_file_of_another_attempt_is_refused(review: Review) -> None:
    other = kept(handed_in("other", content=["x", part(png())]), "image/png")
    for attachment in (str(other.pk), ID):
        region = Region.model_validate({"attachment": attachment, "fragment": ""})
        with pytest.raises(InvalidInput) as refused:
            check_regions([Issue(description="x", region=region)], of=Attempt.objects.filter(run=review.run_id))
        assert refused.value.errors[0]["field"] == "issues.0.region.attachment"


def test_the_form_of_the_page_says_where_it_is_and_the_run_page_draws_it(client: Client, review: Review) -> None:
    client.force_login(given.member(review.project))
    held = when.claims(client, review)
    chart = kept(review, "image/png")
    form = {
        "lease_token": str(held.lease_token),
        "decision": "overrule",
        "verdict": "REVISE",
        "score": "40",
        "issue_severity": ["high"],
        "issue_category": ["correctness"],
        "issue_description": ["The axis is cut off."],
        "issue_suggested_fix": [""],
        "issue_path": [""],
        "issue_region_file": [str(chart.pk)],
        "issue_region_part": ["50,0,200,10"],
    }
    address = reverse("decide_review", args=["marked", review.pk])
    answer = client.post(address, form)
    assert answer.status_code == 400
    assert f'<option value="{chart.pk}" selected>' in answer.content.decode()
    assert client.post(address, form | {"issue_region_part": ["50,0,20,10"]}).status_code in {200, 302}
    advance(review.run_id)
    run_page = client.get(reverse("run", args=["marked", review.run_id])).content.decode()
    assert '<rect class="box" x="170.0" y="0.0" width="68.0"' in run_page
