"""Has the classifier read what was proposed or changed, and after an upgrade what is there: by one worker at a time.

No transaction and no connection is held while the model computes. Without the wheel's model the rules screen alone.
"""

import logging
import time
from itertools import batched

from django.db import OperationalError, connection
from redis import RedisError

from notebook_app.public import Unread, keep_reading, unread
from reflection_app.adapters.llm import ModelError, embed, screening_model
from reflection_app.core.turn import Turn
from reflection_app.notebook.embed_entries import stopping
from reflection_app.notebook.notebook_trail import ring_notebook

log = logging.getLogger(__name__)

BATCH = 16
# Passages of one question: it has a deadline, and the machine may be busy.
AT_ONCE = 8
WORKS_FOR_S = 20.0
TURN = "screen-entries:turn"


def screen_waiting(*, works_for_s: float = WORKS_FOR_S) -> bool:
    """Reads what waits for it, for a while; whether there is more. Nothing where another worker is at it."""
    model = screening_model()
    turn = Turn(TURN)
    if model is None or not turn.take():
        return False
    until = time.monotonic() + works_for_s
    is_first = True
    try:
        while batch := unread(limit=BATCH):
            for one in batch:
                # One at least: else words that take long would keep all others waiting for ever.
                if stopping.is_set() or (not is_first and time.monotonic() >= until):
                    return True
                turn.renew()
                _read(one, model)
                is_first = False
    except (ModelError, OperationalError, RedisError, OSError) as error:
        log.warning("entries wait to be read by the classifier: %s", error)
    finally:
        turn.give_up()
    return False


def _read(one: Unread, model: str) -> None:
    connection.close()  # back to the pool: others need it while this thread computes
    passages = one.passages()
    vectors: list[list[float]] = []
    for some in batched(passages, AT_ONCE):
        vectors += embed(some, model=model, as_query=False)
    if keep_reading(one, passages, vectors):
        ring_notebook(one.project_id)
