"""Anti-patterns as Markdown, `anti_patterns/<name>.md`: a heading, symptoms as a list, and how to prevent it."""

import hashlib
import re

from notebook_app.interchange.items import ImportItem, Unreadable
from notebook_app.kinds import EntryKind
from notebook_app.shown import KeptEntry

HEADING = re.compile(r"^(#{1,6})\s+(.+?)\s*#*\s*$")
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


def read_markdown(text: str, *, file: str) -> ImportItem:
    """The anti-pattern. Raises Unreadable, or pydantic's ValidationError."""
    name, parts = "", {"": list[str](), "symptoms": list[str](), "prevention": list[str]()}
    here = ""
    for line in text.splitlines():
        heading = HEADING.match(line)
        if heading and not name:
            name = LABEL.sub("", heading[2]).strip()
        elif heading:
            here = _section(heading[2]) or ""
        elif line.strip():
            parts[here].append(line.rstrip())
    if not name:
        raise Unreadable("there is no heading that names the anti-pattern")
    return ImportItem(
        file=file,
        key=key_of(name),
        kind=EntryKind.ANTI_PATTERN,
        name=name[:200],
        description=_text(parts[""]),
        details={"symptoms": _items(parts["symptoms"]), "prevention": _text(parts["prevention"])},
    )


def key_of(name: str) -> str:
    """What the anti-pattern of this name is known by: under another file's name it is the same one."""
    return f"anti-pattern:{hashlib.sha256(name.strip().encode(errors='surrogatepass')).hexdigest()[:32]}"


def written_markdown(entry: KeptEntry) -> str:
    """The entry as such a file. Its words cannot end a list or begin a section."""
    symptoms = [f"- {_line(one)}" for one in entry.details.get("symptoms", [])] or ["- (none were noted)"]
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
            _paragraph(str(entry.details.get("prevention") or entry.content)) or "(nothing was noted)",
            "",
        ]
    )


def file_name(entry: KeptEntry) -> str:
    """A name for the entry's file, of letters, digits and dashes, that no other entry's has."""
    stem = UNSAFE.sub("-", entry.name).strip("-_")[:LONGEST_STEM].strip("-") or "entry"
    return f"{stem}-{entry.id.hex[-8:]}.md"


def _section(heading: str) -> str | None:
    told = heading.casefold()
    return next((name for name, words in SECTIONS.items() if any(word in told for word in words)), None)


def _items(lines: list[str]) -> list[str]:
    items: list[str] = []
    for line in lines:
        if item := ITEM.match(line):
            items.append(item[1].strip())
        elif items:
            items[-1] += f" {line.strip()}"
        else:
            items.append(line.strip())
    return [item for item in items if item]


def _text(lines: list[str]) -> str:
    """The lines as they were before a file was written of them."""
    return "\n".join(HELD_BACK.sub("", line) for line in lines).strip()


def _line(text: str) -> str:
    return " ".join(text.split())


def _paragraph(text: str) -> str:
    """The text with each line that would begin a heading or a list held back by a backslash, which is not shown."""
    lines = (line.strip() for line in text.splitlines())
    return "\n".join(f"\\{line}" if MARKS.match(line) else line for line in lines if line)
