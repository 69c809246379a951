"""The file forms of entries: JSON lines, and those of the design seeds."""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from notebook_app.identity import nfc
from notebook_app.kinds import CATEGORIES, EntryKind, storable, words_of
from notebook_app.models import Entry
from notebook_app.proposing import LONGEST_NAME, LONGEST_TEXT, MOST_WORDINGS
from notebook_app.reading import Wording
from notebook_app.versions import KEPT

# An entry as files hold it, and what could not be read as one.


MOST_ITEMS = 5_000
# Kept with the import and shown; a wrong file may be wrong in every line.
MOST_PROBLEMS = 200
# Of a name that is taken from a text.
LONGEST_SENTENCE = 120


class ImportItem(BaseModel):
    """One entry of a file. `key` is what the file itself calls it, in a form that no other kind of file uses."""

    model_config = ConfigDict(extra="forbid")

    file: str
    key: str = Field(max_length=200)
    kind: EntryKind
    name: str = Field(min_length=1, max_length=200)
    description: str = Field(default="", max_length=LONGEST_TEXT)
    content: str = Field(default="", max_length=LONGEST_TEXT)
    details: dict[str, Any] = Field(default_factory=dict)
    agent: str = Field(default="", max_length=120)
    category: str = Field(default="", max_length=120)
    tags: list[str] = Field(default_factory=list, max_length=20)
    occurrences: int = Field(default=1, ge=1, le=1_000_000)
    id: str = ""
    # The agents that it was seen at, and what was said otherwise and counted on it.
    agents: list[Annotated[str, Field(max_length=120)]] = Field(default_factory=list, max_length=MOST_WORDINGS)
    wordings: list[dict[str, Any]] = Field(default_factory=list, max_length=MOST_WORDINGS)

    @model_validator(mode="after")
    def check_it_can_be_stored(self) -> "ImportItem":
        texts = (self.file, self.key, self.name, self.description, self.content, self.agent, self.category)
        # What the details are is checked later, by their kind: they may hold anything yet.
        said = "".join((*texts, *self.tags, *self.agents, *map(str, words_of(self.details))))
        if storable(said) != said:
            raise ValueError("a text holds a NUL character or half a surrogate pair, which cannot be stored")
        # Names and labels are compared in this form; descriptions and contents stay as written.
        self.name, self.agent, self.category = (nfc(text) for text in (self.name, self.agent, self.category))
        self.tags, self.agents = [nfc(tag) for tag in self.tags], [nfc(agent) for agent in self.agents]
        self.wordings = [
            storable({name: value for name, value in said.items() if name in KEPT}) for said in self.wordings
        ]
        return self


@dataclass(frozen=True)
class Problem:
    """What could not be read: the file, where in it, and why."""

    file: str
    where: str
    message: str


class Unreadable(ValueError):
    """A part of a file is not in the form that the file's name says."""


def first_sentence(text: str) -> str:
    """The beginning of `text` as a name: its first line, cut at the end of a sentence or where it gets too long."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    for end in ("。", "！", "？", ". ", "! ", "? "):
        place = line.find(end)
        if 10 <= place < LONGEST_SENTENCE:
            return line[: place + 1].rstrip(" .")
    return line if len(line) <= LONGEST_SENTENCE else line[: LONGEST_SENTENCE - 1].rstrip() + "…"


# Entries as JSON lines, with every field that they have: what one desk writes, another reads without loss.

FIELDS = ("name", "description", "content", "details", "agent", "category", "tags", "occurrences")
# Of what else was counted on it.
BESIDE = ("agents", "wordings")


def read_line(value: Any, *, file: str) -> ImportItem:
    """The entry of one line. Raises Unreadable, or pydantic's ValidationError."""
    if not isinstance(value, dict):
        raise Unreadable("a line is a JSON object")
    try:
        kind = EntryKind(str(value.get("kind", "")))
    except ValueError:
        raise Unreadable(f"kind must be one of {', '.join(EntryKind)}") from None
    source = value.get("source") or value.get("id") or ""
    return ImportItem.model_validate(
        {
            "file": file,
            "key": str(source)[:200],
            "kind": kind,
            "id": str(value.get("id") or ""),
            **{name: value[name] for name in (*FIELDS, *BESIDE) if value.get(name) is not None},
        }
    )


def written_line(entry: Entry, wordings: Sequence[Wording] = ()) -> str:
    """Return the entry as one line of JSON, with its other wordings."""
    line: dict[str, Any] = {
        "id": str(entry.id),
        "kind": entry.kind,
        "state": entry.state,
        "version": entry.version,
        **{name: getattr(entry, name) for name in FIELDS},
        "agents": entry.agents,
        **({"wordings": [one.said for one in wordings]} if wordings else {}),
        "source": entry.source,
        "recalled": entry.recalled,
        "created_at": entry.created_at.isoformat(),
        "last_seen_at": entry.last_seen_at.isoformat(),
    }
    return json.dumps(line, ensure_ascii=False)


# The error notebook of the fifth design seed: `index.json` and `entries/<id>.json`, one note each.

VERSION = 1


def is_note(value: Any) -> bool:
    """Whether this looks like a note of that notebook."""
    return isinstance(value, dict) and "description" in value and ("cause" in value or "suggestion" in value)


def read_note(value: dict[str, Any], *, file: str) -> ImportItem:
    """The note as an entry. Raises Unreadable, or pydantic's ValidationError."""
    description = _text(value, "description")
    if not description.strip():
        raise Unreadable("the description is missing")
    category = _text(value, "category").strip().lower() or "other"
    note_id = _text(value, "id") or _text(value, "entryId")
    times = value.get("occurrences", 1)
    return ImportItem(
        file=file,
        key=f"note:{note_id}"[:200] if note_id else "",
        kind=EntryKind.ERROR_NOTE,
        name=_text(value, "name") or first_sentence(description),
        description=description,
        details={name: text for name in ("cause", "suggestion") if (text := _text(value, name))},
        category=category if category in CATEGORIES else "other",
        agent=_text(value, "agent"),
        occurrences=times if isinstance(times, int) and not isinstance(times, bool) and times > 0 else 1,
    )


def written_note(entry: Entry, *, session_id: str = "") -> dict[str, Any]:
    """The entry in the seed's form, with what it has besides under names of its own."""
    return {
        "id": f"nb_{entry.id.hex}",
        "sessionId": session_id,
        "category": entry.category or "other",
        "description": entry.description or entry.name,
        "cause": entry.details.get("cause", ""),
        "suggestion": entry.details.get("suggestion", ""),
        "createdAt": entry.created_at.isoformat(),
        "name": entry.name,
        "agent": entry.agent,
        "occurrences": entry.occurrences,
    }


def index_of(notes: list[dict[str, Any]]) -> dict[str, Any]:
    """The index: the metadata of every note, as that notebook keeps it beside them."""
    listed = ("id", "sessionId", "category", "description", "createdAt")
    return {"version": VERSION, "entries": [{name: note[name] for name in listed} for note in notes]}


def _text(value: dict[str, Any], name: str, *, needed: bool = False) -> str:
    """What the field says; nothing where it is missing, unless it is needed."""
    found = value.get(name) or ""
    if not isinstance(found, str):
        raise Unreadable(f"{name} is not a text")
    if needed and not found.strip():
        raise Unreadable(f"{name} is missing")
    return found


# Anti-patterns as Markdown, `anti_patterns/<name>.md`: a heading, symptoms as a list, and how to prevent it.

HEADING = re.compile(r"(#{1,6})\s++(.+)")
ITEM = re.compile(r"^\s*(?:[-*+]|\d{1,3}[.)、])\s+(.*)$")
LABEL = re.compile(r"^(?:anti-?pattern|反模式)\s*[:：]\s*", re.IGNORECASE)
SECTIONS = {
    "symptoms": ("symptom", "症状", "表现"),
    "prevention": ("prevent", "prevention", "how to avoid", "预防", "避免", "防止"),
}
# What would begin a heading or a list, and what was held back of that before.
MARKS = re.compile(r"\\*[#*+-]")
HELD_BACK = re.compile(r"^\\(?=\\*[#*+-])")
UNSAFE = re.compile(r"[^\w-]+")
LONGEST_STEM = 60
# Written where an entry has none, and read as none.
NO_SYMPTOMS = "(none were noted)"
NO_PREVENTION = "(nothing was noted)"


def read_markdown(text: str, *, file: str) -> ImportItem:
    """The anti-pattern. Raises Unreadable, or pydantic's ValidationError."""
    name, parts = "", {"": list[str](), "symptoms": list[str](), "prevention": list[str]()}
    here = ""
    for line in text.splitlines():
        heading = HEADING.match(line)
        if heading and not name:
            name = LABEL.sub("", heading[2]).strip()
        elif heading:
            title = heading[2].casefold()
            here = next((name for name, words in SECTIONS.items() if any(word in title for word in words)), "")
        elif line.strip():
            parts[here].append(line.rstrip())
    if not name:
        raise Unreadable("there is no heading that names the anti-pattern")
    symptoms, prevention = list[str](), _anti_pattern_text(parts["prevention"])
    for line in parts["symptoms"]:
        if item := ITEM.match(line):
            symptoms.append(item[1].strip())
        elif symptoms:
            # An item goes on in its next lines.
            symptoms[-1] += f" {line.strip()}"
        else:
            symptoms.append(line.strip())
    return ImportItem(
        file=file,
        key=key_of(name),
        kind=EntryKind.ANTI_PATTERN,
        name=name[:200],
        description=_anti_pattern_text(parts[""]),
        details={
            "symptoms": [one for one in symptoms if one not in ("", NO_SYMPTOMS)],
            "prevention": "" if prevention == NO_PREVENTION else prevention,
        },
    )


def key_of(name: str) -> str:
    """What the anti-pattern of this name is known by: under another file's name it is the same one."""
    return f"anti-pattern:{hashlib.sha256(name.strip().encode(errors='surrogatepass')).hexdigest()[:32]}"


def written_markdown(entry: Entry) -> str:
    """The entry as such a file. Its words cannot end a list or begin a section."""
    symptoms = [f"- {_line(one)}" for one in entry.details.get("symptoms", [])] or [f"- {NO_SYMPTOMS}"]
    return "\n".join(
        [
            f"# {_line(entry.name)}",
            "",
            *([_paragraph(entry.description), ""] if entry.description.strip() else []),
            "## Symptoms",
            "",
            *symptoms,
            "",
            "## Prevention",
            "",
            _paragraph(str(entry.details.get("prevention") or entry.content)) or NO_PREVENTION,
            "",
        ]
    )


def file_name(entry: Entry) -> str:
    """A name for the entry's file, of letters, digits and dashes, that no other entry's has."""
    stem = UNSAFE.sub("-", entry.name).strip("-_")[:LONGEST_STEM].strip("-") or "entry"
    return f"{stem}-{entry.id.hex[-8:]}.md"


def _anti_pattern_text(lines: list[str]) -> str:
    """The lines as they were before a file was written of them."""
    return "\n".join(HELD_BACK.sub("", line) for line in lines).strip()


def _line(text: str) -> str:
    return " ".join(text.split())


def _paragraph(text: str) -> str:
    """The text with each line that would begin a heading or a list held back by a backslash, which is not shown."""
    lines = (line.strip() for line in text.splitlines())
    return "\n".join(f"\\{line}" if MARKS.match(line) else line for line in lines if line)


# The two records that the fourth design seed keeps by themselves: an anti-pattern, and a fix that worked.


def is_record(value: Any) -> bool:
    """Whether this looks like one of the two."""
    return isinstance(value, dict) and "kind" not in value and bool({"pattern_name", "successful_fix"} & value.keys())


def read_record(value: dict[str, Any], *, file: str) -> ImportItem:
    """The entry that it is. Raises Unreadable, or pydantic's ValidationError."""
    if "successful_fix" not in value:
        name = _text(value, "pattern_name", needed=True).strip()
        prevention = _text(value, "prevention").strip()
        return ImportItem(
            file=file,
            key=key_of(name),
            kind=EntryKind.ANTI_PATTERN,
            name=name[:LONGEST_NAME],
            details={"symptoms": _list(value, "symptoms"), "prevention": prevention},
            category=_text(value, "error_type").strip()[:120],
        )
    tool, fix = _text(value, "tool", needed=True).strip(), _text(value, "successful_fix", needed=True).strip()
    error_type = _text(value, "error_type").strip()
    pattern = _text(value, "pattern_id").strip()
    symptoms = "\n".join(_list(value, "symptoms"))
    return ImportItem(
        file=file,
        key=f"fix:{pattern}"[:LONGEST_NAME] if pattern else "",
        kind=EntryKind.FIX_PAIR,
        name=f"{tool}: {' '.join(fix.split())}"[:LONGEST_NAME],
        description=symptoms,
        details={"tool": tool, "error_type": error_type, "symptoms": symptoms, "fix": fix},
        category=error_type[:120],
    )


def _list(value: dict[str, Any], name: str) -> list[str]:
    found = value.get(name) or []
    if not isinstance(found, list):
        raise Unreadable(f"{name} is not a list")
    return [str(one) for one in found]


# Error trace reports of the fourth design seed, `reflection_<id>.json`: their anti-pattern and what was learned.


def is_report(value: Any) -> bool:
    """Whether this looks like such a report."""
    return isinstance(value, dict) and "reflection_id" in value and "error_analysis" in value


def read_report(value: dict[str, Any], *, file: str) -> list[ImportItem]:
    """The entries that the report gives rise to. Raises Unreadable, or pydantic's ValidationError."""
    name = value.get("reflection_id")
    if not isinstance(name, str) or not name:
        raise Unreadable("reflection_id is missing")
    # Pipelines number their reports anew, so that the id alone does not tell one from others.
    known_by = ("reflection_id", "timestamp", "agent", "rewind_ticket_id")
    told_apart = "\0".join(str(value.get(field) or "") for field in known_by)
    key = f"report:{name[:100]}:{hashlib.sha256(told_apart.encode(errors='surrogatepass')).hexdigest()[:16]}"
    agent, analysis, classed = value.get("agent"), value.get("error_analysis"), value.get("error_classification")
    common: dict[str, Any] = {
        "file": file,
        "agent": agent if isinstance(agent, str) else "",
        "description": str(analysis.get("surface_issue") or "") if isinstance(analysis, dict) else "",
        "category": str(classed.get("type") or "")[:120] if isinstance(classed, dict) else "",
    }
    items = []
    pattern, notes = value.get("anti_pattern"), value.get("learning_notes")
    if isinstance(pattern, dict) and str(pattern.get("pattern_name") or "").strip():
        symptoms = pattern.get("symptoms")
        items.append(
            ImportItem(
                **common,
                key=f"{key}:anti-pattern",
                kind=EntryKind.ANTI_PATTERN,
                name=str(pattern["pattern_name"]).strip(),
                details={
                    "symptoms": [str(one) for one in symptoms] if isinstance(symptoms, list) else [],
                    "prevention": str(pattern.get("prevention") or ""),
                },
            )
        )
    if isinstance(notes, str) and notes.strip():
        items.append(
            ImportItem(
                **common,
                key=f"{key}:lesson",
                kind=EntryKind.LESSON,
                name=first_sentence(notes),
                content=notes,
            )
        )
    if not items:
        raise Unreadable("the report has neither an anti-pattern nor learning notes")
    return items
