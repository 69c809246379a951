"""Compares what was proposed, or put into other words, with the rest of its notebook; by any number of workers."""

import logging
import time
from uuid import UUID

from django.db import OperationalError
from django.utils import timezone

from notebook_app.public import compare, due
from reflection_app.actions.notebook_trail import ring_notebook

log = logging.getLogger(__name__)

BATCH = 200
WORKS_FOR_S = 20.0


def compare_due(*, works_for_s: float = WORKS_FOR_S) -> int:
    """How many entries were compared. One that cannot be keeps no other from it, and has its turn again."""
    until, compared = time.monotonic() + works_for_s, 0
    for project_id, entry_id in due(timezone.now(), limit=BATCH):
        if time.monotonic() >= until:
            break
        compared += _compared(project_id, entry_id)
    return compared


def _compared(project_id: UUID, entry_id: UUID) -> bool:
    try:
        compare(project_id, entry_id)
    except OperationalError:
        # The database is away, or two waited for each other: neither is the entry's fault.
        log.warning("entry %s is compared the next time", entry_id, exc_info=True)
        return False
    except Exception:
        log.exception("entry %s could not be compared", entry_id)
        return False
    ring_notebook(project_id)
    return True
