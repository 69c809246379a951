"""Compares what was proposed, or put into other words, with the rest of its notebook: by one worker at a time.

It computes much and waits for little: more of them would only keep runs from the workers.
"""

import logging
import time
from uuid import UUID

from django.db import OperationalError
from django.utils import timezone

from notebook_app.public import compare, due
from reflection_app.core.turn import Turn
from reflection_app.notebook.notebook_trail import ring_notebook

log = logging.getLogger(__name__)

BATCH = 200
WORKS_FOR_S = 20.0
TURN = "compare-entries:turn"


def compare_due(*, works_for_s: float = WORKS_FOR_S) -> int:
    """How many entries were compared; none where another worker is at it. One that cannot be keeps no other from it."""
    turn = Turn(TURN)
    if not turn.take():
        return 0
    until, compared = time.monotonic() + works_for_s, 0
    try:
        for project_id, entry_id in due(timezone.now(), limit=BATCH):
            if time.monotonic() >= until:
                break
            turn.renew()
            compared += _compared(project_id, entry_id)
    finally:
        turn.give_up()
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
