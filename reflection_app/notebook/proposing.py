"""Proposing and importing entries, and what all changes of the notebook from the desk share."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext
from pydantic import AfterValidator, Field

from notebook_app.exposures import settle, was_drawn_for
from notebook_app.interchange.importing import (
    begin_import,
    import_of,
    import_some,
    imports_of,
    preview,
    project_of_import,
)
from notebook_app.interchange.reading import HandedIn
from notebook_app.kinds import By, ChangedMeanwhile, Contradicted, EntryState, NoSuchEntry, NotPossibleNow, Refused
from notebook_app.proposing import Proposal, Proposed, keep, own_evidence
from notebook_app.public import Entry, ImportBatch
from notebook_app.reading import approver_of, entry_of, runs_behind, versions_of
from reflection_app.adapters.live import ring_reviews
from reflection_app.core.audit import Actor, AuditEntry, Target, audit
from reflection_app.core.errors import Conflict, Contradicts, EntryMovedOn, NotFound, wrong
from reflection_app.core.ids import id_from
from reflection_app.core.models import ApiKey, Membership, Project
from reflection_app.core.permissions import Permission, roles_that_may
from reflection_app.loops.protocol.reports import document_of
from reflection_app.loops.storable import Text
from reflection_app.loops.values import Value
from reflection_app.notebook.input import EntryInput, not_blank
from reflection_app.repairs.models import Report
from reflection_app.reviews.models import About
from reflection_app.reviews.own_work import allows_own_work
from reflection_app.runs.models import Run
from reflection_app.runs.queueing import WORK_IMPORT, ask
from reflection_app.teams.models import NotificationKind
from reflection_app.teams.notifications import notify

# Proposing entries: whatever is proposed again is counted on the entry that is there.


# What the audit trail keeps of a change of the notebook, and who the notebook is told made it.

KIND = "entry"
# Long texts stand in the version; the trail names them.
SHORT = ("kind", "name", "agent", "category", "tags", "owner_id", "is_cleared")
LONG = ("description", "content", "details")
# After these an approved entry may hold what screening finds.
RESCREENED = ("entry.edited", "entry.restored", "entry.tagged", "entry.absorbed")
MAY_CURATE = roles_that_may(Permission.CURATE)


def by_of(actor: Actor) -> By:
    """Who acts, as the notebook keeps it."""
    return By(actor.label, actor.user.pk if actor.user else None)


def note(entry: Entry, action: str, *, actor: Actor, more: dict[str, Any] | None = None) -> Entry:
    """Add the entry's last change to the trail, notify the pages, and return the entry. Call it in the transaction."""
    now, *earlier = versions_of(entry, most=2)
    before: dict[str, Any] = {}
    after: dict[str, Any] = {"state": now.state, "version": now.number}
    if now.reason:
        after["reason"] = now.reason
    if not earlier:
        after |= {name: now.kept[name] for name in SHORT if now.kept.get(name)}
    else:
        was = earlier[0]
        before = {"state": was.state, "version": was.number}
        for name in SHORT:
            if was.kept.get(name) != now.kept.get(name):
                before[name], after[name] = was.kept.get(name), now.kept.get(name)
        if texts := [name for name in LONG if was.kept.get(name) != now.kept.get(name)]:
            after["texts"] = texts
    audit(entry.project_id, actor, action, target=Target(KIND, entry.id), before=before, after=after | (more or {}))
    if action in RESCREENED and entry.state == EntryState.APPROVED and entry.is_flagged:
        notify_of_flag(entry, actor=actor)
    ring_notebook(entry.project_id)
    return entry


def notify_of_flag(entry: Entry, *, actor: Actor) -> None:
    """Notify who approved the entry that screening flagged it; all curators if a key did, or who did may not curate.

    Call it in the transaction that flags the entry.
    """
    curators = Membership.objects.filter(project=entry.project_id, role__in=MAY_CURATE, user__is_active=True)
    approver = approver_of(entry)
    users = list((curators.filter(user=approver) or curators).values_list("user", flat=True))
    notify(
        NotificationKind.ENTRY_FLAGGED,
        users=users,
        project_id=entry.project_id,
        about=About.ENTRY,
        about_id=entry.id,
        actor=actor,
        title=entry.name,
    )


def ring_notebook(project_id: UUID) -> None:
    """Tells open pages, once this is committed, that something of the notebook is another by now."""
    transaction.on_commit(lambda: ring_reviews(project_id))


# What the notebook refuses, as errors of actions: each with its status, its field, and who was quicker.


@contextmanager
def refusals_told(**named: UUID) -> Iterator[None]:
    """Raises what the notebook raises inside as NotFound, EntryMovedOn or InvalidInput.

    `named` are the entries that were named in a field: where one is missing, it is the field that is wrong.
    """
    try:
        yield
    except NoSuchEntry as error:
        for field, entry_id in named.items():
            if entry_id == error.entry_id:
                raise wrong(field, str(no_such_entry())) from None
        raise no_such_entry() from None
    except ChangedMeanwhile as error:
        why = gettext(
            "%(who)s changed this entry; it is now at version %(version)s. Nothing was saved. Check it and try again."
        )
        raise EntryMovedOn(
            why % {"who": error.by or "?", "version": error.version}, version=error.version, by=error.by
        ) from None
    except NotPossibleNow as error:
        why = gettext(
            "This entry is “%(state)s” (version %(version)s, by %(who)s) and does not allow this action. "
            "Nothing was changed."
        )
        told = {"state": EntryState(error.state).label, "version": error.version, "who": error.by or "?"}
        raise EntryMovedOn(why % told, version=error.version, by=error.by) from None
    except Contradicted as error:
        why = gettext("This contradicts %(others)s. Nothing was changed. Keep one of them or approve both.")
        others = ", ".join(f"“{name}”" for name in error.names)
        raise Contradicts(why % {"others": others}, conflicts=error.conflict_ids) from None
    except Refused as error:
        raise wrong(error.field, str(error)) from None


def no_such_entry() -> NotFound:
    return NotFound(gettext("Entry not found."))


def get_entry_for(project: Project, entry_id: UUID) -> Entry:
    """The project's entry. Raises NotFound."""
    entry = entry_of(project.pk, entry_id)
    if entry is None:
        raise no_such_entry()
    return entry


def propose_entry(project: Project, data: EntryInput, *, actor: Actor) -> Proposed:
    """The entry that this is kept as. Raises InvalidInput, which names the field."""
    with refusals_told(), transaction.atomic():
        kept = keep(project.pk, proposal_of(data), by=by_of(actor))
        if kept.is_new:
            note(kept.entry, "entry.proposed", actor=actor)
        else:
            ring_notebook(project.pk)
        return kept


def proposal_of(data: EntryInput) -> Proposal:
    """The proposal; what rests on nothing is an occurrence of its own."""
    return Proposal(**{**dict(data), "evidence": dict(data.evidence) or own_evidence()})


# What nobody may do by a key: have agents told words of their own. A key proposes, and somebody else looks at them.
#
# A pipeline that could would write into its own next prompt, and whoever writes into the pipeline's work with it. A
# person and the keys that they made are one here, as everywhere (own_work.py). What a curator types at the desk is not
# meant: that is a person's word, who may put what agents are told into other words as well.

WORDS = ("name", "description", "content", "details")
PUT_INTO_WORDS = ("entry.edited", "entry.restored", "entry.absorbed")
IMPORTED = ("import.previewed", "import.begun")


def refuse_own_words(project_id: UUID, entry_id: UUID, *, actor: Actor) -> None:
    """Raises InvalidInput where a key of `actor` proposed or imported the entry, or put it into other words.

    Of a key, also where whoever made it did, and where the entry comes of runs that they handed in.
    """
    if actor.hand is None or not _is_own(project_id, entry_id, actor=actor):
        return
    if allows_own_work(project_id, actor=actor):
        return
    if actor.api_key is None:
        raise wrong("", gettext("One of your keys proposed or edited this entry. Another member must review it."))
    raise wrong("", gettext("This key proposed or edited this entry. Another member must review it."))


def _is_own(project_id: UUID, entry_id: UUID, *, actor: Actor) -> bool:
    # The keys that are one with `actor`, revoked ones as well; of a person also the one that made them a member.
    if actor.api_key is not None and actor.api_key.created_by_id is None:
        keys = [actor.api_key.pk]
    else:
        keys = list(ApiKey.objects.filter(project=project_id, created_by=actor.person_id).values_list("pk", flat=True))
        if actor.user:
            invited = Membership.objects.filter(project=project_id, user=actor.user, invited_by_key__isnull=False)
            keys += invited.values_list("invited_by_key", flat=True)
    # Not by the key's label: keys may have the same name.
    by_them = Q(api_key_id__in=keys)
    if actor.api_key is not None and actor.api_key.created_by_id is not None:
        by_them |= Q(user_id=actor.api_key.created_by_id)
    trail = AuditEntry.objects.filter(by_them, project=project_id)
    reworded = Q(action__in=PUT_INTO_WORDS) & (Q(after__has_key="name") | Q(after__has_key="texts"))
    of_entry = trail.filter(Q(action="entry.proposed") | reworded, target="entry", target_id=entry_id)
    of_imports = trail.filter(target="import", action__in=IMPORTED, target_id__in=imports_of(entry_id))
    if of_entry.exists() or of_imports.exists():
        return True
    if actor.api_key is None:
        return False
    runs = Run.objects.filter(pk__in=runs_behind(entry_id), handed_in_by__contains=[actor.hand])
    return runs.exists()


def refuse_rewording(before: Entry, after: Entry, *, actor: Actor) -> None:
    """Raises InvalidInput where `actor` is a key and the entry, which agents are told, got other words by it."""
    if actor.api_key is None or after.state != EntryState.APPROVED:
        return
    field = next((name for name in WORDS if getattr(before, name) != getattr(after, name)), None)
    if field is not None:
        why = gettext(
            "This entry is injected into prompts, so a key cannot edit its text. Propose a new entry or "
            "retire this one."
        )
        raise wrong(field, why)


# Taking an outside agent's word on how its first attempt went, for the lessons that were drawn for it.

LONGEST_SUBJECT = 200


class OutcomeInput(Value):
    """`for` identifies the work that lessons were retrieved for; `succeeded` is null to undo an outcome."""

    subject: Annotated[Text, AfterValidator(not_blank)] = Field(
        validation_alias="for",
        min_length=1,
        max_length=LONGEST_SUBJECT,
        description="the agent's own name for its work, as sent in `for` to retrieve lessons",
    )
    succeeded: bool | None = Field(
        strict=True, description="true if the first attempt was good enough; null undoes a reported outcome"
    )


@transaction.atomic
def report_outcome(project: Project, data: OutcomeInput, *, actor: Actor) -> int:
    """Of how many lessons it was recorded. Raises NotFound where none was drawn, Conflict for a run of the desk."""
    run_id = id_from(data.subject)
    if run_id is not None and Run.objects.filter(project=project, pk=run_id).exists():
        raise Conflict(
            gettext(
                "The outcome of a Reflection Desk run comes from its verdicts. Submit attempts or decide reviews "
                "instead."
            )
        )
    if not was_drawn_for(project.pk, subject=data.subject):
        raise NotFound(
            gettext("No lesson was retrieved for this name. Retrieve lessons with the same name in `for` first.")
        )
    settled = settle(project.pk, subject=data.subject, succeeded=data.succeeded)
    after = {"for": data.subject, "succeeded": data.succeeded, "lessons": settled}
    audit(project.pk, actor, "notebook.outcome", target=project, after=after)
    return settled


# Importing entries into the notebook: shown first, then carried out by a worker; and what an export holds.

MOST_REPORTS = 2_000


def preview_import(project: Project, files: Sequence[HandedIn], *, actor: Actor) -> ImportBatch:
    """The import as it would be; nothing of the notebook is changed. Raises InvalidInput where there is no file."""
    with refusals_told(), transaction.atomic():
        found = preview(project.pk, files, by=by_of(actor))
        after = {"files": found.file_names, "entries": found.total, "unreadable": len(found.problems)}
        audit(project.pk, actor, "import.previewed", target=Target("import", found.id), after=after)
        return found


def get_import(project: Project, import_id: UUID) -> ImportBatch:
    """The project's import as it is now. Raises NotFound."""
    with refusals_told():
        return import_of(project.pk, import_id)


def apply_import(project: Project, import_id: UUID, *, actor: Actor) -> ImportBatch:
    """The import, begun; a worker carries it out. Begun twice, it is carried out once. Raises NotFound."""
    with refusals_told(), transaction.atomic():
        if begin_import(project.pk, import_id):
            audit(project.pk, actor, "import.begun", target=Target("import", import_id))
            transaction.on_commit(lambda: ask(WORK_IMPORT, import_id))
        return import_of(project.pk, import_id)


def carry_out_import(import_id: UUID) -> None:
    """Carries an import out piece by piece; a second worker at the same one waits for each piece and goes on after."""
    project_id = project_of_import(import_id)
    if project_id is None:
        return
    while import_some(import_id):
        ring_reviews(project_id)
    ring_reviews(project_id)


def report_files(project: Project) -> Iterator[tuple[str, str]]:
    """The newest reports as files of an export, in the seed's form."""
    for report in Report.objects.filter(project=project).order_by("-created_at", "-id")[:MOST_REPORTS]:
        document = document_of(report.get_holding(), timestamp=report.created_at)
        yield f"reports/reflection_{report.reflection_id}.json", json.dumps(document, ensure_ascii=False, indent=2)
