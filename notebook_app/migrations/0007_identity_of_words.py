"""Entries are the same by their words alone: NFC and runs of white space apart.

Nothing is merged here. Of several entries with the same first words the oldest gets the new fingerprint, and what is
proposed in these words again is counted there; the others keep their old one.
"""

import hashlib
import json
import unicodedata

import django.contrib.postgres.fields
from django.db import migrations, models

KEYED = ("kind", "name", "description", "content", "details")
BATCH = 500


def nfc(text):
    return unicodedata.normalize("NFC", text)


def same_value(value):
    if isinstance(value, dict):
        return {name: same_value(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [same_value(item) for item in value]
    return " ".join(nfc(value).split()) if isinstance(value, str) else value


def text_key(columns):
    details = {name: value for name, value in (columns["details"] or {}).items() if value}
    words = [same_value(details if name == "details" else str(columns[name])) for name in KEYED]
    return hashlib.sha256(json.dumps(words, sort_keys=True).encode()).hexdigest()


def first_words(entry, version_class):
    """What the entry said when it was proposed; what it says now if its first version is not there."""
    kept = version_class.objects.filter(entry=entry).order_by("number").values_list("kept", flat=True).first() or {}
    now = {name: getattr(entry, name) for name in KEYED}
    return now | {name: kept[name] for name in KEYED if kept.get(name) is not None}


def give_keys(apps, schema_editor):
    entry_class = apps.get_model("notebook_app", "Entry")
    version_class = apps.get_model("notebook_app", "EntryVersion")
    taken = set()
    batch = []
    columns = ["name", "agent", "category", "tags", "agents", "fingerprint", "text_key"]
    rows = entry_class.objects.defer("search").order_by("created_at", "id")
    for entry in rows.iterator(chunk_size=BATCH):
        first = text_key(first_words(entry, version_class))
        if (entry.project_id, first) not in taken:
            taken.add((entry.project_id, first))
            entry.fingerprint = first
        entry.name, entry.agent, entry.category = nfc(entry.name), nfc(entry.agent), nfc(entry.category)
        entry.tags = [nfc(tag) for tag in entry.tags]
        entry.agents = [entry.agent]
        entry.text_key = text_key({name: getattr(entry, name) for name in KEYED})
        batch.append(entry)
        if len(batch) == BATCH:
            entry_class.objects.bulk_update(batch, columns)
            batch = []
    if batch:
        entry_class.objects.bulk_update(batch, columns)


class Migration(migrations.Migration):
    dependencies = [("notebook_app", "0006_refining_conflicts")]

    operations = [
        migrations.AddField(
            model_name="entry",
            name="agents",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(blank=True, max_length=120), blank=True, default=list, size=None
            ),
        ),
        migrations.AddField(
            model_name="entry",
            name="text_key",
            field=models.CharField(blank=True, default="", max_length=64),
        ),
        migrations.AddField(
            model_name="entry",
            name="is_used_while_flagged",
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name="evidence",
            name="wordings",
            field=models.JSONField(blank=True, default=list),
        ),
        migrations.AddIndex(
            model_name="entry",
            index=models.Index(fields=["project_id", "text_key"], name="entry_by_text_key"),
        ),
        migrations.AddIndex(
            model_name="entry",
            index=models.Index(
                condition=models.Q(models.Q(("flags", []), _negated=True), ("is_cleared", False)),
                fields=["project_id", "state"],
                name="entry_flagged",
            ),
        ),
        # After the index: rows that were updated in a transaction can stop an ALTER of their table.
        migrations.RunPython(give_keys, migrations.RunPython.noop, elidable=True),
    ]
