"""One entry of the notebook as the pages show it: its labels in words, the fields of its kind, what is suspicious."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from uuid import UUID

from django.db.models import prefetch_related_objects
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from notebook_app.kinds import Change, EntryKind, EntryState, fields_of, may, words_of
from notebook_app.listing import in_open_conflict
from notebook_app.public import Entry, Evidence
from notebook_app.reading import entries_by_id, learned_from, versions_of, wordings_of
from notebook_app.versions import KEPT, flat
from reflection_app.core.ids import id_from
from reflection_app.core.models import Project
from reflection_app.loops.hidden_characters import HiddenCharacter, hidden_in, revealed
from reflection_app.notebook.views.words import BADGES, category_words, field_words, rule_words
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

    entry: Entry
    is_in_conflict: bool = False

    @property
    def badge(self) -> tuple[str, str]:
        """The badge's colour and its picture."""
        return BADGES[EntryState(self.entry.state)]

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
        return revealed(entry.description or entry.content or next(iter(words_of(entry.details)), ""))

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
                "opinion": opinion | {"why": revealed(str(opinion.get("why", "")))} if opinion else None,
            }
            for flag, opinion in ((flag, flag.get("opinion")) for flag in self.entry.flags)
        ]

    @cached_property
    def hidden(self) -> list[HiddenCharacter]:
        """The kinds of characters in it that a page would not show."""
        return hidden_in("\n".join([*self.entry.texts, *self.entry.labels]))

    @property
    def may(self) -> dict[str, bool]:
        """By the name of a change, whether the entry's state allows it."""
        return {change.value: may(change, self.entry.state) for change in Change}

    @property
    def is_waiting(self) -> bool:
        return may(Change.APPROVED, self.entry.state)


def wording_lines(entry: Entry, *, slug: str) -> list[dict[str, Any]]:
    """Return what was said otherwise and counted on the entry; with the address of the entry whose words it was."""
    return [
        {
            "fields": [field_of(name, value) for name, value in _flat_fields(one.said).items()],
            "created_at": one.created_at,
            "address": reverse("entry", args=(slug, one.entry_id)) if one.entry_id else "",
        }
        for one in wordings_of([entry]).get(entry.id, [])
    ]


def _flat_fields(said: dict[str, Any]) -> dict[str, Any]:
    """The columns with those of its kind among them."""
    columns = {name: value for name, value in said.items() if name != "details"} | (said.get("details") or {})
    return {name: value for name, value in columns.items() if value}


def field_of(name: str, value: Any) -> Field:
    """A field as it is shown."""
    items = tuple(revealed(one) for one in value) if isinstance(value, list) else ()
    return Field(name, field_words(name), text="" if items else revealed(str(value)), items=items)


def views_of(entries: list[Entry]) -> list[EntryView]:
    """The entries with what their rows show; two queries."""
    conflicting = in_open_conflict([entry.id for entry in entries])
    prefetch_related_objects(entries, "owner")
    return [EntryView(entry, is_in_conflict=entry.id in conflicting) for entry in entries]


# Where an entry was learned, as links: ids in its evidence that name something of this project, and nothing else.

SHORT = 80
# What evidence names without a page of its own here.
PLAIN: dict[str, Promise] = {
    "proposal": gettext_lazy("Direct proposal"),
    "import": gettext_lazy("Import"),
    "file": gettext_lazy("Imported file"),
}


@dataclass(frozen=True)
class EvidenceLink:
    """`address` is empty where the thing is gone, or has no page."""

    words: str
    address: str = ""


def lines_of(project: Project, occurrences: Iterable[Evidence]) -> list[dict[str, Any]]:
    """Return each occurrence's `links` and `created_at`; one query for each kind of thing that is named."""
    found = list(occurrences)
    wanted: dict[str, set[Any]] = {"report": {str(one.refs["report"]) for one in found if "report" in one.refs}}
    for occurrence in found:
        for kind, value in occurrence.refs.items():
            if kind != "report" and (thing := id_from(str(value))) is not None:
                wanted.setdefault(kind, set()).add(thing)
    known = {
        (kind, str(thing)): EvidenceLink(words, reverse(page, args=(project.slug, target)) + place)
        for kind, thing, words, page, target, place in _known(project, wanted)
    }
    lines = []
    for occurrence in found:
        links = []
        for kind, value in occurrence.refs.items():
            gone = PLAIN.get(kind) or _("%(kind)s: no longer in this project") % {"kind": kind[:SHORT]}
            links.append(known.get((kind, str(value))) or EvidenceLink(str(gone)))
        # Beside something that it leads to, what only keeps proposals apart says nothing.
        leading = [link for link in links if link.address] or links or [EvidenceLink(_("No source given"))]
        lines.append({"links": leading, "created_at": occurrence.created_at})
    return lines


# Kind and id of a thing, its label, and the name, argument and anchor of the page that shows it.
type Known = tuple[str, UUID | str, str, str, UUID | str, str]


def _known(project: Project, wanted: dict[str, set[Any]]) -> Iterator[Known]:
    """Yield those of the things that the project has."""
    for kind, words in (("run", _("Run: %(title)s")), ("reflector", _("Reflector: %(title)s"))):
        runs = Run.objects.filter(project=project, pk__in=wanted.get(kind, ())).select_related("task")
        for run in runs.only("pk", "task__objective"):
            yield kind, run.pk, words % {"title": _short(run.task.title)}, "run", run.pk, ""
    attempts = Attempt.objects.filter(run__project=project, pk__in=wanted.get("attempt", ()))
    for pk, run_id, number in attempts.values_list("pk", "run", "number"):
        words = _("Attempt %(number)s of a run") % {"number": number}
        yield "attempt", pk, words, "run", run_id, f"#attempt-{number}"
    verdicts = Verdict.objects.filter(attempt__run__project=project, pk__in=wanted.get("verdict", ()))
    for pk, run_id, number in verdicts.values_list("pk", "attempt__run", "attempt__number"):
        words = _("Verdict on attempt %(number)s of a run") % {"number": number}
        yield "verdict", pk, words, "run", run_id, f"#attempt-{number}"
    for transcript in Transcript.objects.filter(project=project, pk__in=wanted.get("transcript", ())):
        title = transcript.objective or transcript.external_id or transcript.agent or _("Untitled")
        words = _("Session: %(title)s") % {"title": _short(title)}
        yield "transcript", transcript.pk, words, "session", transcript.pk, ""
    reviews = Review.objects.filter(project=project, pk__in=wanted.get("review", ())).select_related("run__task")
    for review in reviews.only("pk", "run__task__objective"):
        words = _("Review: %(title)s") % {"title": _short(review.run.task.title)}
        yield "review", review.pk, words, "review", review.pk, ""
    failures = ToolFailure.objects.filter(project=project, pk__in=wanted.get("tool_failure", ()))
    for pk, tool in failures.values_list("pk", "tool"):
        words = _("Tool failure: %(tool)s") % {"tool": _short(tool)}
        yield "tool_failure", pk, words, "tool_failure", pk, ""
    for entry in entries_by_id(project.pk, [*wanted.get("entry", ())]).values():
        yield "entry", entry.pk, _("Entry: %(title)s") % {"title": _short(entry.name)}, "entry", entry.pk, ""
    reports = Report.objects.filter(project=project, reflection_id__in=wanted["report"])
    for name in reports.values_list("reflection_id", flat=True):
        yield "report", name, _("Report %(id)s") % {"id": name}, "report", name, ""


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHORT else line[: SHORT - 1] + "…"


# The versions of an entry, each with what it changed in the words of the one before.

# Comparing takes time with the length: what one page marks is bounded, and the rest is shown as two whole texts.
MOST_MARKED = 200_000


def version_lines(entry: Entry) -> list[dict[str, Any]]:
    """Return each `version`, newest first, with what it `changed`; `is_other`: its words are not those of now."""
    versions = versions_of(entry)
    texts = [_texts_by_field(version.kept) for version in versions]
    lines, left = [], MOST_MARKED
    for version, now, was in zip(versions, texts, [*texts[1:], None], strict=True):
        changed = compared(was, now, left=left) if was is not None else []
        left -= sum(len(field.before) + len(field.after) for field in changed)
        lines.append({"version": version, "changed": changed, "is_other": now != texts[0]})
    return lines


@dataclass(frozen=True)
class FieldPair:
    """A field as it is on two sides; the texts are escaped, with what is only there marked."""

    label: str
    before: SafeString | str
    after: SafeString | str
    is_same: bool


def compared(
    before: dict[str, str], after: dict[str, str], *, left: int = MOST_MARKED, with_same: bool = False
) -> list[FieldPair]:
    """Return the fields that differ, or all; what is past `left` characters is shown without marks."""
    pairs = []
    for name in dict.fromkeys([*before, *after]):
        old, new = before.get(name, ""), after.get(name, "")
        if old == new and not (with_same and old):
            continue
        left -= len(old) + len(new)
        pairs.append(FieldPair(field_words(name), *(marked(old, new) if left >= 0 else (old, new)), is_same=old == new))
    return pairs


def sides_of(first: Entry, second: Entry) -> list[FieldPair]:
    """Compare all fields of two entries, in the order in which they are read; fields that neither has are left out."""
    own = dict.fromkeys((*fields_of(first.kind), *fields_of(second.kind)))
    return compared(_said(first, own), _said(second, own), with_same=True)


def _said(entry: Entry, own: Iterable[str]) -> dict[str, str]:
    columns: dict[str, Any] = {"name": entry.name, "description": entry.description}
    columns |= {name: entry.details.get(name) for name in own} | {"content": entry.content}
    return {name: revealed(text) for name, text in flat(columns, tuple(columns)).items()}


def _texts_by_field(kept: dict[str, Any]) -> dict[str, str]:
    """Each field's words by its name; those of the entry's kind among the others. Who decided is no field of it."""
    texts = flat({name: kept[name] for name in KEPT if name in kept}, KEPT)
    kind = texts["kind"]
    texts["kind"] = str(dict(EntryKind.choices).get(kind, kind))
    return {name.removeprefix("details."): revealed(text) for name, text in texts.items()}


# What the notebook has of a run, a session, a report, a review or a failed call, for their pages.

# Of a run that was attempted more often, what rests on later attempts alone is not listed with it.
MOST_PARTS = 100


def learned_from_run(run: Run, attempts: Sequence[Attempt], verdicts: Sequence[Verdict]) -> list[EntryView]:
    """The entries that rest on the run or on a part of it, or that it found itself where it is a reflector."""
    parts = [{"attempt": str(one.pk)} for one in attempts[:MOST_PARTS]]
    parts += [{"verdict": str(one.pk)} for one in verdicts[:MOST_PARTS]]
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
