"""Import labels for calibration from CSV or JSON Lines: the verdicts of a critic and of a person on the same item."""

import csv
from collections.abc import Iterator
from io import StringIO
from typing import Annotated, Any
from uuid import UUID

from django.db import transaction
from django.db.models import Count, QuerySet
from django.utils.translation import gettext as _
from pydantic import Field, ValidationError, model_validator

from reflection_app.core.audit import Actor, audit
from reflection_app.core.errors import InvalidInput, NotFound, wrong
from reflection_app.core.models import Project
from reflection_app.loops.storable import Text, storable
from reflection_app.loops.values import Value
from reflection_app.loops.verdicts import Confidence, Verdict
from reflection_app.metrics.models import CriticJudgement, JudgedItem, JudgementImport, PersonsJudgement
from reflection_app.tasks.submission import invalid_input

MOST_ROWS = 20_000
LONGEST_NAME = 200
BATCH = 2_000
Name = Annotated[Text, Field(min_length=1, max_length=200)]


class LabelRow(Value):
    """`item` is the ID of a run or of an attempt, another name, or a short text; `text` is what was judged."""

    item: Name
    model: Name
    critic_verdict: Verdict
    person_verdict: Verdict
    person: Text = Field(default="", max_length=200)
    confidence: Confidence | None = None
    prompt_version: Text = Field(default="", max_length=40)
    text: Text = Field(default="", max_length=100_000)

    @model_validator(mode="before")
    @classmethod
    def drop_empty_cells(cls, given: Any) -> Any:
        return {name: cell for name, cell in given.items() if cell not in ("", None)} if type(given) is dict else given


def read_labels(content: bytes) -> list[LabelRow]:
    """Return the rows of a CSV file with a header, or of JSON Lines. Raises InvalidInput that names each bad line."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise wrong("content", _("The file must be UTF-8 text.")) from None
    rows: dict[int, LabelRow] = {}
    problems: list[dict[str, str]] = []
    for count, (line, given) in enumerate(_lines_of(text), start=1):
        if count > MOST_ROWS:
            most = f"{MOST_ROWS:,}"
            raise wrong("content", _("An import has at most %(most)s rows. Split it into several.") % {"most": most})
        try:
            # JSON is parsed by pydantic, which bounds its depth.
            rows[line] = (
                LabelRow.model_validate_json(given) if isinstance(given, str) else LabelRow.model_validate(given)
            )
        except ValidationError as error:
            found = invalid_input(error, what="row").errors
            problems += [one | {"field": ", ".join(filter(None, (_place(line), one["field"])))} for one in found]
    problems += _contradictions(rows)
    if problems:
        raise InvalidInput(_("Nothing was imported: some rows are invalid."), errors=problems)
    if not rows:
        raise wrong("content", _("No rows found."))
    return list(rows.values())


def _place(line: int) -> str:
    return _("line %(line)s") % {"line": line}


def _lines_of(text: str) -> Iterator[tuple[int, str | dict[str, str]]]:
    """Yield each row with its line number, from 1: text of a line of JSON, or the cells of a record of CSV."""
    if not text.strip():
        return
    if text.lstrip().startswith(("{", "[")):
        yield from ((number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip())
        return
    reader = csv.DictReader(StringIO(text, newline=""), restkey="extra_cells", restval="")
    try:
        yield from ((reader.line_num, row) for row in reader)
    except csv.Error as error:
        raise wrong(_place(reader.reader.line_num), str(error)) from None


def _contradictions(rows: dict[int, LabelRow]) -> Iterator[dict[str, str]]:
    """Yield a problem for each row whose critic or person has another verdict on the same item in an earlier row."""
    told: dict[tuple[str, ...], tuple[int, object]] = {}
    for line, row in rows.items():
        said: dict[tuple[str, ...], object] = {
            ("critic", row.item, row.model, row.prompt_version): (row.critic_verdict, row.confidence),
            ("person", row.item, row.person): row.person_verdict,
        }
        for key, verdict in said.items():
            earlier, other = told.setdefault(key, (line, verdict))
            if other != verdict:
                problem = _("Line %(line)s gives a different verdict or confidence of %(who)s for this item.")
                who = key[2] or _("a reviewer")
                yield {"field": _place(line), "message": problem % {"line": earlier, "who": who}}


@transaction.atomic
def import_labels(project: Project, rows: list[LabelRow], *, name: str, actor: Actor) -> JudgementImport:
    """Store the rows as one import. They replace earlier verdicts of the same critic or person on the same item."""
    _lock(project)
    batch = JudgementImport.objects.create(project=project, name=storable(name)[:LONGEST_NAME], by_label=actor.label)
    items = _stored_items(project, rows)
    critics = {
        (row.item, row.model, row.prompt_version): CriticJudgement(
            item=items[row.item],
            batch=batch,
            model=row.model,
            prompt_version=row.prompt_version,
            verdict=row.critic_verdict.value,
            confidence=row.confidence,
        )
        for row in rows
    }
    given = {(row.item, row.person): row.person_verdict.value for row in rows}
    people = [PersonsJudgement(item=items[item], batch=batch, name=who, verdict=v) for (item, who), v in given.items()]
    replacing: dict[str, Any] = {"batch_size": BATCH, "update_conflicts": True}
    CriticJudgement.objects.bulk_create(
        critics.values(),
        unique_fields=["item", "model", "prompt_version"],
        update_fields=["batch", "verdict", "confidence"],
        **replacing,
    )
    PersonsJudgement.objects.bulk_create(
        people, unique_fields=["item", "name"], update_fields=["batch", "verdict"], **replacing
    )
    audit(project.pk, actor, "judgements.imported", target=batch, after={"name": batch.name, "rows": len(rows)})
    return batch


def _stored_items(project: Project, rows: list[LabelRow]) -> dict[str, JudgedItem]:
    """Add the items that are new, update their texts, and return all by name."""
    texts: dict[str, str] = {}
    for row in rows:
        texts[row.item] = row.text or texts.get(row.item, "")
    new = [JudgedItem(project=project, external_id=item) for item in texts]
    JudgedItem.objects.bulk_create(new, batch_size=BATCH, ignore_conflicts=True)
    items = {item.external_id: item for item in JudgedItem.objects.filter(project=project, external_id__in=texts)}
    changed = [item for item in items.values() if texts[item.external_id] not in {"", item.content}]
    for item in changed:
        item.content = texts[item.external_id]
    JudgedItem.objects.bulk_update(changed, ["content"], batch_size=BATCH)
    return items


@transaction.atomic
def delete_import(project: Project, import_id: UUID, *, actor: Actor) -> None:
    """Delete the import, its verdicts, and the items that no critic judged in another one. Raises NotFound."""
    _lock(project)
    batch = JudgementImport.objects.filter(project=project, pk=import_id).first()
    if batch is None:
        raise NotFound(_("Import not found."))
    audit(project.pk, actor, "judgements.deleted", target=batch, before={"name": batch.name})
    batch.delete()
    JudgedItem.objects.filter(project=project, critic_judgements__isnull=True).delete()


def imports_of(project: Project) -> QuerySet[JudgementImport]:
    """The imports that calibration counts verdicts of, newest first, each with its number of `verdicts`."""
    return JudgementImport.objects.filter(project=project).annotate(verdicts=Count("judgements")).filter(verdicts__gt=0)


def _lock(project: Project) -> None:
    """Imports and deletions of one project wait for each other: both write the same items."""
    Project.objects.select_for_update(no_key=True).get(pk=project.pk)
