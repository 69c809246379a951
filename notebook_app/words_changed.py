"""Tells whoever listens, once it is committed, that the words of an entry were set."""

from functools import partial

from django.db import transaction
from django.dispatch import Signal

from notebook_app.models import Entry

# Sent with `project_id` and `entry_id`; an entry that is gone again may be among them.
words_changed = Signal()


def announce(entry: Entry) -> None:
    """Has `words_changed` sent when the transaction is committed. A listener that fails fails nobody else."""
    tell = partial(words_changed.send_robust, sender=Entry, project_id=entry.project_id, entry_id=entry.pk)
    transaction.on_commit(tell, robust=True)
