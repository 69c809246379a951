"""The form of an entry's words: the fields of its kind, what was typed into them, and what is wrong with it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.http import QueryDict
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from notebook_app.kinds import LONGEST_FIELD, EntryKind, EntryState, fields_of, lists_of
from notebook_app.listing import Listing, entry_rows
from notebook_app.public import Entry
from reflection_app.core.models import Project

# What screening found, in the words of the pages; the rules are those of notebook_app/screening.py.

RULES: dict[str, Promise] = {
    "override": _("overrides instructions"),
    "persona": _("changes the role"),
    "prompt theft": _("asks for the system prompt"),
    "exfiltration": _("sends data out"),
    "role tag": _("chat template markers"),
    "script": _("script"),
    "hidden text": _("hidden text"),
    "turned text": _("reversed text"),
    "hidden characters": _("invisible characters"),
    "look-alikes": _("confusable letters"),
    "too long": _("too long to check"),
    "letters apart": _("separated letters"),
    "steers the reader": _("instructs the agent"),
}


def rule_words(rule: str) -> str:
    """What the rule is called, or its name where the pages know none."""
    return str(RULES.get(rule, rule.replace("_", " ")))


type Words = str | Promise

# States by color and icon, and fields and categories by the words of the pages.

BADGES = {
    EntryState.PROPOSED: ("wait", "clock"),
    EntryState.SCREENED: ("wait", "search"),
    EntryState.APPROVED: ("good", "check"),
    EntryState.RETIRED: ("plain", "stop"),
    EntryState.REJECTED: ("bad", "cross"),
    EntryState.MERGED: ("plain", "fork"),
}
# The fields of every entry, and those that a kind has of its own (notebook_app/kinds.py).
FIELDS: dict[str, Promise] = {
    "kind": _("Type"),
    "name": _("Name"),
    "description": _("Description"),
    "content": _("Content"),
    "agent": _("Agent"),
    "category": _("Category"),
    "tags": _("Tags"),
    "cause": _("Cause"),
    "suggestion": _("Suggestion"),
    "symptoms": _("Symptoms"),
    "prevention": _("Prevention"),
    "when": _("When it applies"),
    "advice": _("Advice"),
    "tool": _("Tool"),
    "error_type": _("Error type"),
    "fix": _("Fix"),
    "operation": _("Operation"),
    "suggested_tools": _("Suggested tools"),
}
CATEGORY_WORDS: dict[str, Promise] = {
    "reasoning_error": _("Reasoning error"),
    "tool_misuse": _("Tool misuse"),
    "missed_optimization": _("Missed optimization"),
    "incomplete_answer": _("Incomplete answer"),
    "hallucination": _("Hallucination"),
    "context_mismanagement": _("Context mismanagement"),
    "other": _("Other"),
    # Those of fix pairs are the types of a tool's failures.
    "parameter_error": _("Wrong parameters"),
    "wrong_tool": _("Wrong tool"),
    "permission_denied": _("No permission"),
    "external_service_error": _("Service failed"),
}


def field_words(name: str) -> str:
    """The field's label, or its name where the pages know none."""
    return str(FIELDS.get(name, name.replace("_", " ")))


def category_words(category: str) -> str:
    """What a category is called: the usual ones in the reader's language, others as they were given."""
    return str(CATEGORY_WORDS.get(category, category))


LABELS = ("category", "agent", "tags")
LONG = {"description", "content"}
# Of the fields of kinds, those that are one line; all others may be long.
SHORT = {"tool", "error_type", "operation", "category", "agent", "tags", "name"}
LONGEST = {"name": 200, "category": 120, "agent": 120, "tags": 2_000, "description": 20_000, "content": 20_000}
LONGEST_LIST = 125_000


@dataclass(frozen=True)
class EntryForm:
    """The form for an entry of this kind. `version` is the one that saving it changes."""

    kind: str
    typed: Mapping[str, str]
    errors: Mapping[str, list[str]]
    messages: list[str]
    reason: str = ""
    version: int | None = None
    # What the entry says by now, where somebody changed it while this was typed.
    moved: bool = False

    @property
    def kind_words(self) -> Words:
        return EntryKind(self.kind).label

    @property
    def fields(self) -> list[dict[str, Any]]:
        """The fields as the template needs them. A list is typed with a line for each of its items."""
        lists = lists_of(self.kind)
        return [
            {
                "name": name,
                "label": field_words(name),
                "value": self.typed.get(name, ""),
                "errors": self.errors.get(name, []),
                "is_short": name in SHORT,
                "is_list": name in lists,
                "longest": LONGEST_LIST if name in lists else LONGEST.get(name, LONGEST_FIELD),
            }
            for name in names_of(self.kind)
        ]


def names_of(kind: str) -> list[str]:
    """The fields of the form, in order."""
    return ["name", "description", *fields_of(kind), "content", *LABELS]


def form_of(entry: Entry) -> EntryForm:
    """The form with what the entry says."""
    texts: dict[str, Any] = {name: getattr(entry, name) for name in ("name", "description", "content", *LABELS)}
    typed = {name: _typed(name, value) for name, value in (texts | entry.details).items()}
    return EntryForm(entry.kind, typed, errors={}, messages=[], version=entry.version)


def typed_in(data: QueryDict, kind: str) -> dict[str, str]:
    """What was typed into the fields of the form, with the line ends of the desk."""
    return {name: data.get(name, "").replace("\r\n", "\n") for name in names_of(kind)}


def given_by(typed: Mapping[str, str], kind: str) -> dict[str, Any]:
    """What was typed as an entry's columns."""
    details = {name: typed.get(name, "") for name in fields_of(kind)}
    columns: dict[str, Any] = {name: typed.get(name, "").strip() for name in ("name", "category", "agent")}
    columns |= {name: typed.get(name, "") for name in sorted(LONG)}
    return columns | {"details": details, "tags": tags_in(typed.get("tags", ""))}


def tags_in(text: str) -> tuple[str, ...]:
    """The tags that were typed with commas between them, Chinese ones too."""
    return tuple(one.strip() for one in text.replace("\N{FULLWIDTH COMMA}", ",").split(",") if one.strip())


def _typed(name: str, value: Any) -> str:
    if name == "tags":
        return ", ".join(value)
    return "\n".join(value) if isinstance(value, list) else str(value)


# What waits in the notebook.


def waiting_entries(project: Project) -> QuerySet[Entry]:
    """Return the proposals and flagged approved entries that wait for a curator."""
    return entry_rows(project.pk, Listing(is_to_decide=True))
