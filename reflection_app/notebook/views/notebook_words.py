"""The kinds, states, changes and fields of the notebook in the words of the pages."""

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from notebook_app.public import EntryKind, EntryOrder, EntryState

type Words = str | Promise

KINDS: dict[EntryKind, Words] = {
    EntryKind.ERROR_NOTE: _("Error note"),
    EntryKind.ANTI_PATTERN: _("Anti-pattern"),
    EntryKind.LESSON: _("Lesson"),
    EntryKind.FIX_PAIR: _("Fix pair"),
    EntryKind.RULE: _("Rule"),
    EntryKind.FACT: _("Project fact"),
    EntryKind.PREFERENCE: _("Preference"),
    EntryKind.SUPPLEMENT: _("Supplement"),
}
STATES: dict[EntryState, Words] = {
    EntryState.PROPOSED: _("Proposed"),
    EntryState.SCREENED: _("Screened"),
    EntryState.APPROVED: _("Approved"),
    EntryState.RETIRED: _("Retired"),
    EntryState.REJECTED: _("Rejected"),
    EntryState.MERGED: _("Merged"),
}
BADGES = {
    EntryState.PROPOSED: ("wait", "clock"),
    EntryState.SCREENED: ("wait", "search"),
    EntryState.APPROVED: ("good", "check"),
    EntryState.RETIRED: ("plain", "stop"),
    EntryState.REJECTED: ("bad", "cross"),
    EntryState.MERGED: ("plain", "fork"),
}
# Said after the name of whoever did it. By their names, since more come with what else can be done to entries.
CHANGES: dict[str, Words] = {
    "proposed": _("proposed it"),
    "screened": _("compared it with the others"),
    "edited": _("edited it"),
    "approved": _("approved it"),
    "rejected": _("rejected it"),
    "retired": _("retired it"),
    "merged": _("merged it into another"),
    "absorbed": _("merged another into it"),
    "split": _("split it"),
    "restored": _("restored an earlier version"),
    "reopened": _("reopened it"),
    "tagged": _("changed its tags"),
    "owned": _("changed its owner"),
    "cleared": _("cleared what screening found"),
    "flagged": _("found something in it when screening what it means"),
    "imported": _("imported it"),
    "superseded": _("let another one hold instead"),
    "released": _("gave back what was merged into it"),
    "undone": _("took the last change back"),
}
# The fields of every entry, and those that a kind has of its own (notebook_app/kinds.py).
FIELDS: dict[str, Words] = {
    "kind": _("Kind"),
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
    "error_type": _("Type of error"),
    "fix": _("Fix"),
    "operation": _("Operation"),
    "suggested_tools": _("Suggested tools"),
}
ORDERS: dict[EntryOrder, Words] = {
    EntryOrder.FREQUENT: _("Most frequent first"),
    EntryOrder.NEWEST: _("Newest first"),
    EntryOrder.OLDEST: _("Oldest first"),
    EntryOrder.SEEN: _("Seen again last first"),
    EntryOrder.RECALLED: _("Most recalled first"),
    EntryOrder.NAME: _("By name"),
}
CATEGORY_WORDS: dict[str, Words] = {
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


def change_words(change: str) -> str:
    """What a version's change is called."""
    return str(CHANGES.get(change, change))
