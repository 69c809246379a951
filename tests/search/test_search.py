"""What is found by what was typed, in which order, and by nobody else."""

from datetime import timedelta
from uuid import UUID

import hypothesis
import pytest
from django.utils import timezone
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from reflection_app.core.models import Role
from reflection_app.core.permissions import GRANTS, Permission
from reflection_app.loops.task_spec import OF_THE_DESK
from reflection_app.reviews.models import Review
from reflection_app.runs.models import Run
from reflection_app.search import finding
from reflection_app.search.finding import Match
from reflection_app.search.models import SearchRow
from reflection_app.search.results import Kind, search
from reflection_app.tasks.models import Task
from tests import given
from tests.notebook.entries import make_entry
from tests.repairs.tool_failures import report
from tests.reviews.waiting_rows import waiting_rows
from tests.search.things import Things, groups, hits, make_things

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def things(module_transaction: None) -> Things:
    return make_things("found")


def titles(*found: object) -> list[str]:
    return [hit.title for hit in found]  # type: ignore[attr-defined]


def test_one_word_finds_one_thing_of_each_kind(things: Things) -> None:
    found = groups(things.project, "kettle")
    assert {kind: [hit.id for hit in group.hits] for kind, group in found.items()} == {
        Kind.RUNS: [str(things.review.run_id), str(things.run.pk)],
        Kind.REVIEWS: [str(things.review.pk)],
        Kind.ENTRIES: [str(things.entry.pk)],
        Kind.TICKETS: [things.ticket.ticket_id],
        Kind.REPORTS: [things.report.reflection_id],
        Kind.SESSIONS: [str(things.session.pk)],
        Kind.FAILURES: [str(things.failure.pk)],
    }
    run = found[Kind.RUNS].hits[1]
    assert (run.title, run.detail, run.state, run.look) == ("Describe the kettle", "EXT-7 · porter", "queued", "run")
    assert run.path == f"/p/found/runs/{things.run.pk}/"
    assert {hit.run_id for group in found.values() for hit in group.hits if group.kind is Kind.REVIEWS} == {
        things.review.run_id
    }


@pytest.mark.parametrize(
    ("typed", "kind"),
    [
        ("EXT-7", Kind.RUNS),
        ("ext-7", Kind.RUNS),
        ("rewind_20261124_101112_AB12", Kind.TICKETS),
        ("call-9", Kind.FAILURES),
        ("boil the kettle first", Kind.ENTRIES),
    ],
)
def test_what_goes_by_just_this_name_comes_first(things: Things, typed: str, kind: Kind) -> None:
    given.submitted_run(things.project, objective=f"A later one that speaks of {typed}")
    found = search(things.project, typed, may=lambda _: True)
    assert found[0].kind is kind
    assert found[0].hits[0].match is Match.EXACT
    if kind is Kind.RUNS:
        assert titles(*found[0].hits) == ["Describe the kettle", f"A later one that speaks of {typed}"]


def test_the_beginning_of_a_name_comes_before_words_however_old() -> None:
    project = given.project()
    given.submitted_run(project, objective="Old", external_id="build-2026-7")
    given.submitted_run(project, objective="The build of 2026 for 7 people")
    found = hits(project, "build-2026")
    assert [(hit.title, hit.match) for hit in found] == [
        ("Old", Match.BEGINNING),
        ("The build of 2026 for 7 people", Match.WORDS),
    ]


@pytest.mark.parametrize("kind", [Kind.RUNS, Kind.REVIEWS, Kind.ENTRIES, Kind.TICKETS, Kind.REPORTS, Kind.SESSIONS])
@pytest.mark.parametrize("length", [36, 8])
def test_everything_is_found_by_its_id_or_its_first_digits(things: Things, kind: Kind, length: int) -> None:
    thing = {
        Kind.RUNS: things.run,
        Kind.REVIEWS: things.review,
        Kind.ENTRIES: things.entry,
        Kind.TICKETS: things.ticket,
        Kind.REPORTS: things.report,
        Kind.SESSIONS: things.session,
    }[kind]
    whole = str(thing.pk) if length == 36 else thing.pk.hex
    found = hits(things.project, whole[:length].upper(), kind)
    named = {Kind.TICKETS: things.ticket.ticket_id, Kind.REPORTS: things.report.reflection_id}.get(kind, str(thing.pk))
    assert named in [hit.id for hit in found]
    assert {hit.match for hit in found} == {Match.EXACT if length >= 32 else Match.BEGINNING}


def test_a_task_is_found_by_its_id_and_shown_by_its_newest_run(things: Things) -> None:
    newest = Run.objects.create(
        project=things.project, task=things.run.task, mode=things.run.mode, spec=things.run.spec, loop_version=1
    )
    for typed in (str(things.run.task_id), "Describe the kettle"):
        assert str(newest.pk) in [hit.id for hit in hits(things.project, typed)]
        assert str(things.run.pk) not in [hit.id for hit in hits(things.project, typed)]
    # The list, to which the link leads, has both.
    assert groups(things.project, "Describe the kettle")[Kind.RUNS].total == 2


@pytest.mark.parametrize(
    ("objective", "typed"),
    [
        ("Parse the invoices", "invoice pars"),
        ("Parse the invoices", "parsing invoicing"),
        ("Parse the invoices", "the"),
        ("Call getUserProfile", "profile"),
        ("Call getUserProfile", "getuserpro"),
        ("Read src/app/main.py", "main.py"),
        ("帮用户搜索航班信息", "航班"),
        ("帮用户搜索航班信息", "搜"),
        ("帮用户搜索航班信息", "信息 用户"),
        ("用python写一个函数", "python 函数"),
        ("Ｆｕｌｌ-width forms", "full"),
        ("СДЕЛАЙ отчёт", "сделай ОТЧ"),
        ("Straße nach Ünna", "ünn stra"),
    ],
)
def test_words_are_found_as_people_write_them(objective: str, typed: str) -> None:
    project = given.project()
    given.submitted_run(project, objective=objective)
    given.submitted_run(project, objective="Something else altogether")
    assert titles(*hits(project, typed)) == [objective]


@pytest.mark.parametrize("typed", ["invoice haiku", "nvoice", "航空", "息信", "0190aaaa"])
def test_what_has_not_all_of_it_is_not_found(typed: str) -> None:
    project = given.project()
    given.submitted_run(project, objective="Parse the invoices of 帮用户搜索航班信息")
    assert hits(project, typed) == []


HOSTILE = [
    "%",
    "_",
    "\\",
    "a\x00b",
    "\ud800",
    "'",
    "''",
    "a' & 'b",
    "!a | b:*",
    "a <-> b",
    ":*A",
    "()",
    "((",
    "&",
    "{}",
]


def test_hostile_queries_are_texts_to_look_for() -> None:
    project = given.project()
    given.submitted_run(project, objective="Parse the invoices", external_id="EXT-7")
    for typed in (*HOSTILE, "x" * 10_000, "ab " * 3_000, "航" * 10_000, "\u202e\ufeff", "🙂" * 300):
        assert groups(project, typed) == {}, typed[:20]


def test_signs_are_part_of_a_name() -> None:
    project = given.project()
    given.submitted_run(project, objective="Odd", external_id="100%_\\'a:*")
    given.submitted_run(project, objective="Other", external_id="100-a")
    found = hits(project, "100%_\\'a:*")
    assert [(hit.title, hit.match) for hit in found] == [("Odd", Match.EXACT), ("Other", Match.WORDS)]
    assert [hit.match for hit in hits(project, "100%")] == [Match.BEGINNING, Match.WORDS]


def test_another_projects_rows_are_never_found(things: Things) -> None:
    other = given.project()
    for typed in ("kettle", "EXT-7", str(things.run.pk), str(things.run.task_id), things.run.pk.hex[:8]):
        assert groups(other, typed) == {}
    # Lexemes are marked with the end of the project's id, which two may share.
    digits = things.project.pk.hex
    other_digit = "0" if digits[-7] != "0" else "1"
    twin = given.project(id=UUID(f"{digits[:-7]}{other_digit}{digits[-6:]}"))
    assert groups(twin, "kettle") == {}
    given.submitted_run(twin, objective="The twin's kettle")
    assert titles(*hits(twin, "kettle")) == ["The twin's kettle"]
    assert "The twin's kettle" not in titles(*hits(things.project, "kettle"))


def test_the_newest_of_many_are_shown_with_how_many_there_are() -> None:
    project = given.project()
    for number in range(8):
        given.submitted_run(project, objective=f"Count the kettles {number}")
    group = groups(project, "kettles")[Kind.RUNS]
    assert titles(*group.hits) == [f"Count the kettles {number}" for number in (7, 6, 5, 4, 3)]
    assert (group.total, group.is_counted, group.has_more) == (8, True, True)


def test_what_is_older_than_the_newest_is_found_by_the_index(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finding, "NEWEST", 3)
    project = given.project()
    given.submitted_run(project, objective="The first kettle", external_id="job-1")
    for number in range(2, 8):
        given.submitted_run(project, objective=f"Pot {number}", external_id=f"job-{number}")
    assert titles(*hits(project, "kettle")) == ["The first kettle"]
    assert [hit.match for hit in hits(project, "job-1")] == [Match.EXACT]
    group = groups(project, "pot")[Kind.RUNS]
    assert titles(*group.hits) == [f"Pot {number}" for number in (7, 6, 5, 4, 3)]
    assert (group.total, group.is_counted) == (6, True)
    monkeypatch.setattr(finding, "NEWEST", 6)
    # Enough among the newest: how many there are besides is not counted, and what goes by just this name is there.
    given.submitted_run(project, objective="About job-1 again")
    for number in range(5):
        given.submitted_run(project, objective=f"See job-1 and pot {number}")
    group = groups(project, "job-1")[Kind.RUNS]
    assert titles(*group.hits)[0] == "The first kettle"
    assert (group.total, group.is_counted) == (6, False)


def test_reviews_are_found_while_they_wait() -> None:
    project = given.project()
    rows = waiting_rows(project, 9)
    assert len(hits(project, "text", Kind.REVIEWS)) == 5
    assert groups(project, "text")[Kind.REVIEWS].total == 9
    Review.objects.filter(pk=rows[3].pk).update(state="decided", decision="approve")
    assert hits(project, "text 3", Kind.REVIEWS) == []
    assert [hit.id for hit in hits(project, str(rows[3].pk), Kind.REVIEWS)] == [str(rows[3].pk)]
    assert [hit.id for hit in hits(project, "text 0", Kind.REVIEWS)] == [str(rows[0].pk)]
    Task.objects.filter(pk=rows[1].run.task_id).update(external_id="text")
    group = groups(project, "text")[Kind.REVIEWS]
    assert (group.hits[0].id, group.hits[0].match, group.is_counted) == (str(rows[1].pk), Match.EXACT, True)


def may_as(role: Role) -> object:
    return lambda permission: role.rank >= GRANTS[permission].role.rank


def test_proposals_are_for_those_who_curate_and_come_after_what_holds() -> None:
    project = given.project()
    make_entry(project, name="Fill the kettle", state="approved")
    make_entry(project, name="Empty the kettle", state="proposed")
    make_entry(project, name="Sell the kettle", state="rejected")

    def found(role: Role) -> list[str]:
        return [hit.title for group in search(project, "kettl", may=may_as(role)) for hit in group.hits]  # type: ignore[arg-type]

    assert found(Role.CURATOR) == ["Fill the kettle", "Empty the kettle"]
    assert found(Role.REVIEWER) == ["Fill the kettle"]


def test_kinds_that_nobody_may_read_are_left_out(things: Things) -> None:
    kinds = {group.kind for group in search(things.project, "kettle", may=lambda one: one is Permission.READ)}
    assert kinds == set(Kind) - {Kind.ENTRIES, Kind.REVIEWS}


def test_words_are_kept_as_the_rows_change_and_go() -> None:
    project = given.project()
    run = given.submitted_run(project, objective="Boil the kettle")
    Task.objects.filter(pk=run.task_id).update(objective="Boil the egg")
    assert hits(project, "kettle") == []
    assert titles(*hits(project, "egg")) == ["Boil the egg"]
    failure = report(project, error_message="The egg broke")
    assert set(SearchRow.objects.filter(pk__in=(run.task_id, failure.pk)).values_list("kind", flat=True)) == {"t", "f"}
    run.task.delete()
    failure.delete()
    assert not SearchRow.objects.filter(pk__in=(run.task_id, failure.pk)).exists()
    given.submitted_run(project, objective="Boil another egg")
    gone = project.pk
    project.delete()
    assert not SearchRow.objects.filter(project_id=gone).exists()


def test_what_the_desk_does_about_other_work_is_not_found() -> None:
    project = given.project()
    for mode in OF_THE_DESK:
        Task.objects.create(project=project, objective="Look back at the kettle", mode=mode.value)
    assert not SearchRow.objects.filter(project=project).exists()


def test_of_equals_the_newest_comes_first_whenever_it_was_written() -> None:
    project = given.project()
    old, new = (report(project, error_message=f"The kettle {name}") for name in ("fell", "rose"))
    SearchRow.objects.filter(pk=old.pk).update(created_at=timezone.now() + timedelta(days=1))
    assert [hit.id for hit in hits(project, "kettle", Kind.FAILURES)] == [str(old.pk), str(new.pk)]


class AnyText(TestCase):
    @settings(max_examples=30, deadline=None)
    @hypothesis.given(typed=st.text(max_size=60), objective=st.text(min_size=1, max_size=60))
    def test_any_text_is_answered(self, typed: str, objective: str) -> None:
        project = given.project()
        Task.objects.create(project=project, objective=objective.replace("\x00", ""), mode="reflexion")
        groups(project, typed)
