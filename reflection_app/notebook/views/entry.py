"""One entry of the notebook as the pages show it: its labels in words, the fields of its kind, what is suspicious."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from notebook_app.public import (
    KEPT,
    Change,
    KeptEntry,
    KeptVersion,
    Occurrence,
    entries_by_id,
    fields_of,
    in_open_conflict,
    learned_from,
    may,
    versions_of,
    wordings_of,
)
from reflection_app.core.ids import id_from
from reflection_app.core.models import Project
from reflection_app.loops.hidden_characters import HiddenCharacter, hidden_in, revealed
from reflection_app.notebook.views.words import (
    BADGES,
    KINDS,
    STATES,
    Words,
    category_words,
    change_words,
    field_words,
    rule_words,
)
from reflection_app.repairs.models import Report, ToolFailure
from reflection_app.reviews.models import Review
from reflection_app.runs.models import Attempt, Run, Verdict
from reflection_app.sessions.models import Transcript
from reflection_app.web.rendering import marked


@dataclass(frozen=True)
class Field:
    """A field with what it says: one text, or a list of them. Hidden characters are written out."""

    name: str
    label: str
    text: str
    items: tuple[str, ...] = ()


@dataclass(frozen=True)
class EntryView:
    """An entry with what its row needs of other tables."""

    entry: KeptEntry
    is_in_conflict: bool = False
    owner: str = ""

    @property
    def kind_words(self) -> Words:
        return KINDS[self.entry.kind]

    @property
    def state_words(self) -> Words:
        return STATES[self.entry.state]

    @property
    def badge(self) -> tuple[str, str]:
        """The badge's colour and its picture."""
        return BADGES[self.entry.state]

    @property
    def category_words(self) -> str:
        return category_words(self.entry.category)

    @cached_property
    def name(self) -> str:
        return revealed(self.entry.name)

    @property
    def gist(self) -> str:
        """The words that say most about it, for a row."""
        entry = self.entry
        return revealed(entry.description or entry.content or next(iter(_texts(entry.details.values())), ""))

    @cached_property
    def fields(self) -> list[Field]:
        """What it says, in the order in which it is read; empty fields are left out."""
        entry = self.entry
        own = [(name, entry.details[name]) for name in fields_of(entry.kind) if entry.details.get(name)]
        told = [("description", entry.description), *own, ("content", entry.content)]
        return [field_of(name, value) for name, value in told if value]

    @property
    def flags(self) -> list[dict[str, Any]]:
        """What screening found: by which rule, in which words; of the classifier, how surely, and a second opinion."""
        return [
            {
                "rule": rule_words(str(flag.get("rule", ""))),
                "quote": revealed(str(flag.get("quote", ""))),
                "sureness": flag.get("sureness"),
                "opinion": _shown_opinion(flag.get("opinion")),
            }
            for flag in self.entry.flags
        ]

    @cached_property
    def hidden(self) -> list[HiddenCharacter]:
        """The kinds of characters in it that a page would not show."""
        entry = self.entry
        words = [entry.name, entry.description, entry.content, *_texts(entry.details.values()), *entry.tags]
        return hidden_in("\n".join([*words, entry.agent, entry.category]))

    @property
    def may(self) -> dict[str, bool]:
        """By the name of a change, whether the entry's state allows it."""
        return {change.value: may(change, self.entry.state) for change in Change}

    @property
    def is_waiting(self) -> bool:
        return may(Change.APPROVED, self.entry.state)


def _shown_opinion(opinion: Any) -> dict[str, Any] | None:
    """The opinion with its words as they are shown, hidden characters written out."""
    if not isinstance(opinion, dict):
        return None
    return opinion | {"why": revealed(str(opinion.get("why", "")))}


@dataclass(frozen=True)
class WordingLine:
    """Another wording of an entry, field by field; `address` leads to the entry that it was the words of, if one."""

    fields: list[Field]
    created_at: datetime
    address: str = ""


def wording_lines(entry: KeptEntry, *, slug: str) -> list[WordingLine]:
    """Return what was said otherwise and counted on the entry, or merged into it."""
    return [
        WordingLine(
            [field_of(name, value) for name, value in _flat_fields(one.said).items()],
            one.created_at,
            reverse("entry", args=(slug, one.entry_id)) if one.entry_id else "",
        )
        for one in wordings_of([entry]).get(entry.id, [])
    ]


def _flat_fields(said: dict[str, Any]) -> dict[str, Any]:
    """The columns with those of its kind among them."""
    details = said.get("details")
    own = details if isinstance(details, dict) else {}
    return {name: value for name, value in ({k: v for k, v in said.items() if k != "details"} | own).items() if value}


def field_of(name: str, value: Any) -> Field:
    """A field as it is shown."""
    items = tuple(revealed(one) for one in value) if isinstance(value, list) else ()
    return Field(name, field_words(name), text="" if items else revealed(str(value)), items=items)


def views_of(entries: list[KeptEntry]) -> list[EntryView]:
    """The entries with what their rows show; two queries."""
    conflicting = in_open_conflict([entry.id for entry in entries])
    owners = owner_names(entries)
    return [
        EntryView(entry, is_in_conflict=entry.id in conflicting, owner=owners.get(entry.owner_id, ""))
        for entry in entries
    ]


def owner_names(entries: Iterable[KeptEntry]) -> dict[int | None, str]:
    """The names of those who own any of the entries, by their ids."""
    ids = {entry.owner_id for entry in entries if entry.owner_id is not None}
    return dict(User.objects.filter(pk__in=ids).values_list("pk", "username")) if ids else {}


def _texts(values: Iterable[Any]) -> list[str]:
    return [str(text) for value in values for text in (value if isinstance(value, list) else [value])]


# Where an entry was learned, as links: ids in its evidence that name something of this project, and nothing else.

SHORT = 80
# What evidence names without a page of its own here.
PLAIN: dict[str, str | Promise] = {
    "proposal": gettext_lazy("A proposal of its own"),
    "import": gettext_lazy("An import"),
    "file": gettext_lazy("An imported file"),
}


@dataclass(frozen=True)
class EvidenceLink:
    """`address` is empty where the thing is gone, or has no page."""

    kind: str
    words: str
    address: str = ""


@dataclass(frozen=True)
class EvidenceLine:
    """One occurrence and what it leads to."""

    links: list[EvidenceLink]
    created_at: datetime


def lines_of(project: Project, occurrences: Iterable[Occurrence]) -> list[EvidenceLine]:
    """Each occurrence with its links; one query for each kind of thing that is named."""
    found = list(occurrences)
    wanted: dict[str, set[UUID]] = {}
    for occurrence in found:
        for kind, value in occurrence.refs.items():
            if (thing := id_from(str(value))) is not None:
                wanted.setdefault(kind, set()).add(thing)
    known = _known(project, wanted)
    named = {str(one.refs["report"]) for one in found if "report" in one.refs}
    reports = Report.objects.filter(project=project, reflection_id__in=named)
    for one in reports.values_list("reflection_id", flat=True):
        known["report", one] = _link("report", _("Report %(id)s") % {"id": one}, "report", project, one)
    lines = []
    for occurrence in found:
        links = []
        for kind, value in occurrence.refs.items():
            link = known.get((kind, str(value)))
            if link is None and kind in PLAIN:
                link = EvidenceLink(kind, str(PLAIN[kind]))
            elif link is None:
                link = EvidenceLink("gone", _("%(kind)s: not in this project any more") % {"kind": kind[:SHORT]})
            links.append(link)
        # Beside something that it leads to, what only keeps proposals apart says nothing.
        leading = [link for link in links if link.address] or links or [EvidenceLink("", _("Nothing was named"))]
        lines.append(EvidenceLine(leading, occurrence.created_at))
    return lines


def _known(project: Project, wanted: dict[str, set[UUID]]) -> dict[tuple[str, str], EvidenceLink]:
    # Runs, and what stands on the page of one: attempts and verdicts.
    known: dict[tuple[str, str], EvidenceLink] = {}
    for kind in ("run", "reflector"):
        runs = Run.objects.filter(project=project, pk__in=wanted.get(kind, ())).select_related("task")
        for run in runs.only("pk", "task__objective"):
            words = _("Reflector: %(title)s") if kind == "reflector" else _("Run: %(title)s")
            known[kind, str(run.pk)] = _link(kind, words % {"title": _short(run.task.title)}, "run", project, run.pk)
    attempts = Attempt.objects.filter(run__project=project, pk__in=wanted.get("attempt", ()))
    for pk, run_id, number in attempts.values_list("pk", "run", "number"):
        words = _("Attempt %(number)s of a run") % {"number": number}
        known["attempt", str(pk)] = _link("attempt", words, "run", project, run_id, place=f"attempt-{number}")
    verdicts = Verdict.objects.filter(attempt__run__project=project, pk__in=wanted.get("verdict", ()))
    for pk, run_id, number in verdicts.values_list("pk", "attempt__run", "attempt__number"):
        words = _("Verdict on attempt %(number)s of a run") % {"number": number}
        known["verdict", str(pk)] = _link("verdict", words, "run", project, run_id, place=f"attempt-{number}")
    for transcript in Transcript.objects.filter(project=project, pk__in=wanted.get("transcript", ())):
        title = transcript.objective or transcript.external_id or transcript.agent or _("without a title")
        words = _("Session: %(title)s") % {"title": _short(title)}
        known["transcript", str(transcript.pk)] = _link("transcript", words, "session", project, transcript.pk)
    reviews = Review.objects.filter(project=project, pk__in=wanted.get("review", ())).select_related("run__task")
    for review in reviews.only("pk", "run__task__objective"):
        words = _("Review: %(title)s") % {"title": _short(review.run.task.title)}
        known["review", str(review.pk)] = _link("review", words, "review", project, review.pk)
    failures = ToolFailure.objects.filter(project=project, pk__in=wanted.get("tool_failure", ()))
    for failure in failures.defer("run__spec"):
        words = _("Tool failure: %(tool)s") % {"tool": _short(failure.tool)}
        known["tool_failure", str(failure.pk)] = _link("tool_failure", words, "tool_failure", project, failure.pk)
    for entry in entries_by_id(project.pk, [*wanted.get("entry", ())]).values():
        words = _("Entry: %(title)s") % {"title": _short(entry.name)}
        known["entry", str(entry.id)] = _link("entry", words, "entry", project, entry.id)
    return known


def _link(kind: str, words: str, page: str, project: Project, thing: UUID | str, *, place: str = "") -> EvidenceLink:
    address = reverse(page, args=(project.slug, thing))
    return EvidenceLink(kind, words, f"{address}#{place}" if place else address)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHORT else line[: SHORT - 1] + "…"


# The versions of an entry, each with what it changed in the words of the one before.

# Comparing takes time with the length: what one page marks is bounded, and the rest is shown as two whole texts.
MOST_MARKED = 200_000


@dataclass(frozen=True)
class ChangedField:
    """A field that a version changed: as it was, and as it is, with what differs marked."""

    label: str
    before: SafeString | str
    after: SafeString | str


@dataclass(frozen=True)
class VersionLine:
    """`is_other`: its words are not those of the entry now, so that it can be restored."""

    version: KeptVersion
    words: str
    changed: list[ChangedField]
    is_other: bool


def version_lines(entry: KeptEntry) -> list[VersionLine]:
    """The versions, newest first."""
    versions = versions_of(entry)
    if not versions:
        return []
    now, left = _texts_by_field(versions[0].kept), MOST_MARKED
    lines = []
    for version, before in zip(versions, [*versions[1:], None], strict=True):
        changed = _changed(before.kept, version.kept, left=left) if before is not None else []
        left -= sum(len(field.before) + len(field.after) for field in changed)
        is_other = _texts_by_field(version.kept) != now
        lines.append(VersionLine(version, change_words(version.change), changed, is_other=is_other))
    return lines


def _changed(before: dict[str, Any], after: dict[str, Any], *, left: int) -> list[ChangedField]:
    was, now = _texts_by_field(before), _texts_by_field(after)
    found = []
    for name in [*was, *(name for name in now if name not in was)]:
        old, new = was.get(name, ""), now.get(name, "")
        if old == new:
            continue
        left -= len(old) + len(new)
        shown = marked(old, new) if left >= 0 else (old, new)
        found.append(ChangedField(field_words(name), *shown))
    return found


def _texts_by_field(kept: dict[str, Any]) -> dict[str, str]:
    """Each field's words by its name; those of the entry's kind among the others. Who decided is no field of it."""
    flat = {name: kept[name] for name in KEPT if name in kept and name != "details"} | dict(kept.get("details") or {})
    return {name: revealed(_text(name, value)) for name, value in flat.items()}


def _text(name: str, value: Any) -> str:
    if name == "kind":
        return str(next((words for kind, words in KINDS.items() if kind == value), value))
    return "\n".join(str(one) for one in value) if isinstance(value, list) else str(value)


# What the notebook has of a run, a session, a report, a review or a failed call, for their pages.

# Of a run that was attempted more often, what rests on later attempts alone is not listed with it.
MOST_PARTS = 100


def learned_from_run(run: Run) -> list[EntryView]:
    """The entries that rest on the run or on a part of it, or that it found itself where it is a reflector."""
    attempts = Attempt.objects.filter(run=run).order_by("number").values_list("pk", flat=True)[:MOST_PARTS]
    verdicts = Verdict.objects.filter(attempt__run=run).order_by("created_at").values_list("pk", flat=True)[:MOST_PARTS]
    parts = [{"attempt": str(one)} for one in attempts] + [{"verdict": str(one)} for one in verdicts]
    return _views(run, [{"run": str(run.pk)}, {"reflector": str(run.pk)}, *parts])


def learned_from_session(transcript: Transcript) -> list[EntryView]:
    """The entries that rest on the session or on the run that reflected on it."""
    runs = [{"run": str(transcript.run_id)}] if transcript.run_id else []
    return _views(transcript, [{"transcript": str(transcript.pk)}, *runs])


def learned_from_report(report: Report) -> list[EntryView]:
    """The entries that rest on the report."""
    return _views(report, [{"report": report.reflection_id}])


def learned_from_review(review: Review) -> list[EntryView]:
    """The entries that rest on the review."""
    return _views(review, [{"review": str(review.pk)}])


def learned_from_failure(failure: ToolFailure) -> list[EntryView]:
    """The entries that rest on the failed call."""
    return _views(failure, [{"tool_failure": str(failure.pk)}])


def _views(thing: Run | Transcript | Report | Review | ToolFailure, any_of: list[dict[str, Any]]) -> list[EntryView]:
    """The most frequent first."""
    return views_of(learned_from(thing.project_id, any_of=any_of))
