"""The navigation says where one is, in one place, and pages that ask for something let one go back."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from reflection_app.core.models import Role
from tests import given
from tests.metrics.metric_rows import fill

pytestmark = pytest.mark.django_db
MARKED = re.compile(r'<a href="([^"]+)" aria-current="')


@pytest.mark.parametrize(
    ("page", "marked"),
    [
        ("/p/team/settings/permissions/", {"/p/team/settings/", "/p/team/settings/permissions/"}),
        ("/p/team/instructions/", {"/p/team/reports/", "/p/team/instructions/"}),
        ("/p/team/settings/keeping/delete-project/", {"/p/team/settings/"}),
        ("/account/email/?project=team", {"/account/email/"}),
    ],
)
def test_a_page_is_marked_where_it_belongs(client: Client, page: str, marked: set[str]) -> None:
    client.force_login(given.member(given.project("team"), Role.ADMIN))
    answer = client.get(page)
    assert answer.status_code == 200
    assert set(MARKED.findall(answer.text)) == marked


def test_a_longer_time_is_offered_where_there_is_one(client: Client) -> None:
    project = given.project("team")
    client.force_login(given.member(project))
    long_ago = timezone.now() - timedelta(days=200)
    fill(project, runs=1, is_scripted=False, finished_on=long_ago.date(), finished_at=long_ago)
    assert "Show 90 days" in client.get("/p/team/metrics/").text
    assert "Show 90 days" not in client.get("/p/team/metrics/?period=90d").text


def test_nobody_who_may_not_review_is_waited_for(client: Client) -> None:
    project = given.project("team")
    client.force_login(given.member(project, Role.VIEWER))
    fill(project, runs=1)
    page = client.get("/p/team/").text
    assert "Waiting for you" not in page
    assert "Waiting for review" in page
