"""What a project's file holds becomes a new project that holds the same, row by row, under other ids."""

from io import StringIO
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from notebook_app.public import propose
from reflection_app.attachments.models import Attachment, ProducedFile, RenderedPage
from reflection_app.core.audit import Actor, AuditEntry, hand_of
from reflection_app.core.models import Membership, Project, Role
from reflection_app.loops.attempt_effects import Decision
from reflection_app.metrics.calibration import compared_items
from reflection_app.metrics.judgements import imports_of
from reflection_app.metrics.models import RunFigure
from reflection_app.repairs.models import Supplement
from reflection_app.reviews.asking import AskInput, ask_for_review
from reflection_app.reviews.claiming import claim_review
from reflection_app.reviews.deciding import decide_review
from reflection_app.reviews.decisions import DecisionInput
from reflection_app.reviews.models import Review, ReviewState
from reflection_app.reviews.own_work import OwnWorkRefused
from reflection_app.runs.advance import advance
from reflection_app.runs.events import Event, EventType
from reflection_app.runs.models import Run, RunState
from reflection_app.teams.archive.importing import Wishes, import_project
from reflection_app.teams.archive.reading import Identities
from reflection_app.teams.archive.tables import STAYS, TABLES, columns_of, key_in_file
from reflection_app.teams.demo.loading import load_demo
from reflection_app.teams.models import Delivery, Secret, Webhook
from tests import given
from tests.api.caller import Caller
from tests.attachments.produced import file_part, workbook
from tests.attachments.test_produced_files import asked_for_report, with_files
from tests.metrics.judgements import imported as import_labels_of
from tests.metrics.judgements import label
from tests.repairs.past_supplements import past_supplement
from tests.reviews.editing import edited, reviewer
from tests.reviews.panels import open_panel, panel_project, people, say
from tests.reviews.review_items import audited
from tests.runs.test_attempts import hand_in
from tests.teams.archive.archives import everybody, manifest_of, rows_of, saved, written

pytestmark = pytest.mark.django_db


def imported(content: bytes, tmp_path: Path, *, same_people: bool = False, **wishes: Any) -> Project:
    path = tmp_path / "project.zip"
    path.write_bytes(content)
    people = everybody() if same_people else {}
    return import_project(
        path, Wishes(**{"slug": "copy", "go_on": True, "people": people, **wishes}), actor=Actor()
    ).project


def demo_project() -> Project:
    """All that a newcomer sees: scripted runs of every kind, reviews, a notebook, comments."""
    return load_demo(actor=Actor(user=given.user("visitor")))


def renamed(table: str, rows: list[dict[str, Any]], identities: Identities) -> list[dict[str, Any]]:
    """The rows as they should be in the copy."""
    fields = {key_in_file(column): column for one in TABLES if one.name == table for column in columns_of(one)}
    renewed = []
    for row in rows:
        new: dict[str, Any] = {}
        for key, value in row.items():
            kind = fields[key].get_internal_type()
            if value is not None and (
                kind == "UUIDField" or (fields[key].is_relation and not key.endswith("_username"))
            ):
                new[key] = str(identities.new(UUID(value)))
            elif kind == "CharField":
                new[key] = identities.in_text(value) if value is not None else None
            else:
                new[key] = identities.in_json(value) if kind == "JSONField" else value
        renewed.append(new)
    return renewed


def test_the_demo_project_comes_back_row_by_row(tmp_path: Path) -> None:
    project = demo_project()
    before = written(project)
    copy = imported(before, tmp_path, same_people=True)
    old, new = rows_of(before), rows_of(written(copy))
    identities = Identities(copy.pk, former=project.pk)
    for table, rows in old.items():
        for row in rows:
            if "id" in row:
                identities.add(table, UUID(row["id"]))
    assert len([name for name, rows in old.items() if rows]) > 20, "the demo project is no longer much of a test"
    for table, rows in old.items():
        found, wanted = new[table], renamed(table, rows, identities)
        if table == "audit":
            # What taking it along and bringing it in added to the trails.
            apart = {"project.exported", "project.imported"}
            found, wanted = ([row for row in rows if row["action"] not in apart] for rows in (found, wanted))
        if table == "notebook_evidence":
            found, wanted = [[row | {"refs_key": ""} for row in rows] for rows in (found, wanted)]
        assert sorted(map(str, found)) == sorted(map(str, wanted)), table
    assert manifest_of(before)["project"]["name"] == copy.name
    figures = [RunFigure.objects.filter(project=one).order_by("finished_at") for one in (copy, project)]
    assert [*figures[0].values_list("finished_at", "runs", "cost_usd")] == [
        *figures[1].values_list("finished_at", "runs", "cost_usd")
    ]


def test_every_table_is_taken_along_or_left_behind_on_purpose() -> None:
    ours = {
        model.__name__ for app in ("reflection_app", "notebook_app") for model in apps.get_app_config(app).get_models()
    }
    taken = {table.model.__name__ for table in TABLES}
    assert taken | set(STAYS) == ours
    assert not taken & set(STAYS)


def test_the_copy_works_a_run_that_waits_for_a_person_goes_on_when_it_is_decided(tmp_path: Path) -> None:
    project = given.unsure_project("unsure")
    original = given.waiting_review(project)
    copy = imported(written(project), tmp_path)
    review = Review.objects.get(project=copy)
    assert review.pk != original.pk
    actor = Actor(user=given.member(copy))
    held = claim_review(review, actor=actor)
    assert held.lease_token is not None
    decide_review(held, DecisionInput(lease_token=held.lease_token, decision=Decision.APPROVE), actor=actor)
    advance(review.run_id)
    assert Run.objects.get(pk=review.run_id).state == RunState.FINISHED
    assert Run.objects.get(pk=original.run_id).state == RunState.WAITING_REVIEW


def test_postgresql_has_statistics_of_the_new_rows_before_they_are_joined(tmp_path: Path) -> None:
    project = given.unsure_project("unsure")
    given.waiting_review(project)
    content = written(project)
    with CaptureQueriesContext(connection) as captured:
        imported(content, tmp_path)
    statements = [query["sql"] for query in captured]
    analyzed = next(number for number, sql in enumerate(statements) if sql.startswith("ANALYZE"))
    first_update = next(number for number, sql in enumerate(statements) if sql.startswith("UPDATE"))
    assert analyzed < first_update
    assert '"reflection_app_review"' in statements[analyzed]


def test_a_lesson_is_found_in_the_copy_and_the_same_evidence_counts_once(tmp_path: Path) -> None:
    project = given.unsure_project("learned")
    run = given.advanced_run(project)
    told = {"kind": "lesson", "name": "Look first", "content": "Look before you leap.", "source": f"run:{run.pk}"}
    propose(project.pk, **told, evidence={"run": str(run.pk)})
    copy = imported(written(project), tmp_path)
    copied = Run.objects.get(project=copy)
    again = propose(copy.pk, **{**told, "source": f"run:{copied.pk}"}, evidence={"run": str(copied.pk)})
    assert again.occurrences == 1
    assert again.source == f"run:{copied.pk}"


def test_what_was_under_way_is_cancelled_unless_it_is_to_go_on(tmp_path: Path) -> None:
    project = given.project("busy")
    given.submitted_run(project)
    content = written(project)
    assert Run.objects.get(project=imported(content, tmp_path, slug="goes-on")).state == RunState.QUEUED
    cancelled = Run.objects.get(project=imported(content, tmp_path, go_on=False))
    assert (cancelled.state, cancelled.outcome) == (RunState.FINISHED, "cancelled")


def test_nothing_secret_is_in_the_file_and_no_webhook_sends_anything(tmp_path: Path) -> None:
    project = given.unsure_project("secretive")
    Secret.objects.create(project=project, name="token", origin="https://api.example", ciphertext="sealed-value")
    Webhook.objects.create(
        project=project, url="https://hook.example/", events=[EventType.RUN_CREATED], ciphertext="sealed-too"
    )
    given.advanced_run(project)
    content = written(project)
    told = str(rows_of(content)) + str(manifest_of(content))
    assert "sealed" not in told
    assert manifest_of(content)["secrets_to_enter"] == [{"name": "token", "origin": "https://api.example"}]
    copy = imported(content, tmp_path)
    assert not Webhook.objects.get(project=copy).is_enabled
    assert Event.objects.filter(project=copy, type=EventType.RUN_CREATED).exists()
    assert not Delivery.objects.filter(project=copy).exists()


def test_people_come_along_only_where_they_are_said_to_be_the_same(tmp_path: Path) -> None:
    project = given.project("peopled")
    member = given.member(project, Role.CURATOR)
    content = written(project)
    assert not Membership.objects.filter(project=imported(content, tmp_path, slug="strangers")).exists()
    same = imported(content, tmp_path, slug="same", same_people=True)
    assert list(Membership.objects.filter(project=same).values_list("user", "role")) == [(member.pk, "curator")]
    led = imported(content, tmp_path, slug="led", admin=member.get_username())
    assert list(Membership.objects.filter(project=led).values_list("user", "role")) == [(member.pk, "admin")]


def test_who_edited_an_answer_does_not_judge_it_in_the_copy_either(tmp_path: Path) -> None:
    review = audited("edited")
    actor = reviewer(review)
    edited(review, actor=actor)
    ask_for_review(review.run, AskInput(note="Look at it."), actor=reviewer(review))
    copy = imported(written(review.project), tmp_path, same_people=True)
    asked = Review.objects.get(project=copy, state=ReviewState.WAITING)
    with pytest.raises(OwnWorkRefused):
        claim_review(asked, actor=actor)
    claim_review(asked, actor=reviewer(asked))


def test_runs_belong_to_who_submitted_them_or_made_their_key_else_to_the_admin_of_the_copy(tmp_path: Path) -> None:
    project = given.unsure_project("owners")
    maker, member, first, named = (
        given.member(project),
        given.member(project),
        given.member(project, Role.ADMIN),
        given.user(),
    )
    made, unmade = given.api_key(project, made_by=maker)[0], given.api_key(project)[0]
    for actor in (Actor(api_key=made), Actor(api_key=unmade), Actor()):
        given.submitted_run(project, actor=actor)
    shared = given.submitted_run(project, actor=Actor(user=member))
    shared.handed_in_by += [hand_of(maker.pk), "key:gone"]
    shared.save(update_fields=["handed_in_by"])
    content = written(project)
    [told] = [row["handed_in_by"] for row in rows_of(content)["runs"] if row["id"] == str(shared.pk)]
    assert told == [member.username, maker.username, ""]

    def owners(copy: Project) -> list[list[str]]:
        return list(Run.objects.filter(project=copy).order_by("created_at").values_list("handed_in_by", flat=True))

    of_member, of_maker, of_first, of_named = (hand_of(user.pk) for user in (member, maker, first, named))
    same = imported(content, tmp_path, slug="same", same_people=True)
    assert owners(same) == [[of_maker], [of_first], [], [of_member, of_maker]]
    others = imported(content, tmp_path, slug="others", admin=named.username)
    assert owners(others)[:3] == [[of_named], [of_named], []]


def test_a_run_of_an_older_file_belongs_to_who_submitted_its_task_or_to_the_admin(tmp_path: Path) -> None:
    project = given.unsure_project("older")
    member = given.member(project)
    given.submitted_run(project, actor=Actor(user=member))
    given.submitted_run(project, actor=Actor(api_key=given.api_key(project)[0]))
    admin = given.member(project, Role.ADMIN)
    content = written(project)
    rows = rows_of(content)
    for row in rows["runs"]:
        del row["handed_in_by"]
    older = saved(tmp_path / "older.zip", manifest=manifest_of(content), rows=rows)
    copy = imported(older.read_bytes(), tmp_path, same_people=True)
    hands = Run.objects.filter(project=copy).order_by("created_at").values_list("handed_in_by", flat=True)
    assert list(hands) == [[Actor(user=member).hand], [Actor(user=admin).hand]]


def test_labels_of_an_older_file_are_calibrated_in_the_copy(tmp_path: Path) -> None:
    """Older files have the rows, the outcome and the time of an import, and no import of a person's verdict."""
    project = given.project()
    import_labels_of(project, [label("a"), label("b", person="REJECT")])
    content = written(project)
    rows = rows_of(content)
    for one in rows["judgement_imports"]:
        one |= {"rows": [], "outcome": {"counts": {"new": 2}, "split": 0}, "applied_at": one["created_at"]}
    for one in rows["persons_judgements"]:
        del one["batch_id"]
    older = saved(tmp_path / "older.zip", manifest=manifest_of(content), rows=rows)
    copy = imported(older.read_bytes(), tmp_path)
    said = {(row.judged.critic, row.judged.people) for row in compared_items(copy.pk)[0]}
    assert said == {("PASS", "PASS"), ("PASS", "REJECT")}
    assert [(one.name, one.judgements.count()) for one in imports_of(copy)] == [("labels.jsonl", 2)]


def test_opinions_of_an_open_panel_are_not_in_a_file_that_people_read() -> None:
    project = panel_project("blind")
    panel = open_panel(project)
    [actor, *_others] = people(project, 1)
    review = say(panel, actor)
    open_file, blind_file = rows_of(written(project)), rows_of(written(project, hides_opinions=True))
    seat = next(row for row in open_file["reviews"] if row["id"] == str(review.pk))
    assert (seat["state"], bool(seat["opinion"])) == (ReviewState.DECIDED, True)
    seat = next(row for row in blind_file["reviews"] if row["id"] == str(review.pk))
    assert (seat["state"], seat["opinion"], seat["decided_by_label"]) == (ReviewState.WAITING, None, "")
    told = [row["after"] for row in blind_file["audit"] if row["target_id"] == str(review.pk)]
    assert told
    assert not any(told)


def test_the_commands_take_a_project_along(tmp_path: Path) -> None:
    project = given.unsure_project("commanded")
    given.advanced_run(project)
    path, out = tmp_path / "p.zip", StringIO()
    call_command("export_project", "commanded", path, stdout=out)
    assert path.stat().st_mode & 0o077 == 0
    with pytest.raises(SystemExit, match="there already"):
        call_command("export_project", "commanded", path)
    call_command("import_project", path, slug="again", stdout=out)
    assert Run.objects.filter(project__slug="again").count() == 1
    assert "It has no members yet" in out.getvalue()
    assert AuditEntry.objects.filter(action="project.imported").count() == 1
    with pytest.raises(SystemExit, match="short name already"):
        call_command("import_project", path, slug="again")


def test_produced_files_come_along_and_work_in_the_copy(tmp_path: Path, caller: Caller, client: Client) -> None:
    project = caller.project
    run = asked_for_report(caller)
    file = file_part(workbook(), name="报告/report.xlsx")
    assert hand_in(caller, run, with_files(file)).status == 202
    advance(run.pk)
    page = {"attachment": Attachment.objects.get(project=project), "page": 1, "max_side_px": 100}
    RenderedPage.objects.create(project=project, **page, width=1, height=1, content=b"x")

    Run.objects.filter(project=project, spec={}).update(spec=run.spec)
    copy = imported(written(project), tmp_path)
    looked = ProducedFile.objects.get(run__project=copy, facts__isnull=False)
    assert looked.attachment is not None
    assert looked.attachment.project == copy
    assert looked.attempt is not None
    assert looked.attempt.run == looked.run
    assert not RenderedPage.objects.filter(project=copy).exists()
    viewer = given.logged_in(client, copy, Role.VIEWER)
    text = viewer.get(f"/p/{copy.slug}/runs/{looked.run_id}/").text
    assert "report.xlsx" in text


def test_a_file_from_before_checks_were_simplified_is_imported(tmp_path: Path) -> None:
    project = given.project("former", completeness={"max_supplements": 1})
    past_supplement(project)
    content = written(project)
    manifest, rows = manifest_of(content), rows_of(content)
    former = {"when": "never", "holdout_share": 0.1, "least_worth": 0.2, "max_supplements": 1}
    manifest["project"] |= {"completeness": former, "completeness_by_kind": {"news": {"enabled": False}}}
    group = {"id": str(uuid4()), "task_kind": "compare", "source": "supplement:1"}
    rows["supplements"][0] |= {"group": group["id"], "estimate": {"worth": 0.5}}
    # Tables that no longer exist are skipped.
    rows |= {"supplement_groups": [group], "check_draws": [{"id": str(uuid4())}], "check_suggestions": []}
    path = saved(tmp_path / "former.zip", manifest=manifest, rows=rows)
    copy = import_project(path, Wishes(slug="copy", go_on=True), actor=Actor()).project
    assert copy.completeness == {"when": "off", "max_supplements": 1}
    assert Supplement.objects.get(project=copy).suggested_tools == ["read_file"]
