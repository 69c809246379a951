"""What a worker does for the notebook, one at a time: comparing, embedding, screening."""

import hashlib
import logging
import threading
import time
from collections.abc import Sequence
from dataclasses import replace

from django.core.cache import cache
from django.db import DatabaseError, OperationalError, transaction
from django.utils import timezone
from pydantic import BaseModel, ConfigDict, StrictBool
from redis import RedisError

from judgement.lesson_screening import log_odds
from judgement.linear import MODEL
from notebook_app.comparing import WheelsModel, compare, due
from notebook_app.kinds import EntryState
from notebook_app.meaning import (
    Lacking,
    WrongDimensions,
    activate_space,
    active_space,
    drop_other_spaces,
    keep_vectors,
    known_space,
    lacking_vectors,
    wanted_space,
)
from notebook_app.public import Space
from notebook_app.screening import Opinion
from notebook_app.screening_by_meaning import keep_reading, reading_of, unread
from reflection_app.adapters.llm import (
    CompletionRequest,
    ModelError,
    TextRefused,
    can_look_back,
    complete,
    embed,
    embedding_model,
    model_for,
    screening_model,
    wheels_file,
)
from reflection_app.core.audit import Actor
from reflection_app.core.connections import released
from reflection_app.core.models import Project
from reflection_app.core.turn import Turn
from reflection_app.loops.answer_reading import UnusableAnswerError, read_answer
from reflection_app.loops.framing import framed
from reflection_app.loops.prompts import prompt
from reflection_app.loops.values import system, user
from reflection_app.notebook.proposing import notify_of_flag, ring_notebook

# Compares what was proposed, or put into other words, with the rest of its notebook: by one worker at a time.
#
# It computes much and waits for little: more of them would only keep runs from the workers.


log = logging.getLogger(__name__)

BATCH = 200
WORKS_FOR_S = 20.0
TURN = "compare-entries:turn"


def _whole_vectors(texts: Sequence[str]) -> Sequence[Sequence[float]]:
    return _vectors_of(list(texts), model=MODEL)


def compare_due() -> int:
    """How many entries were compared; none where another worker is at it. One that cannot be keeps no other from it."""
    turn = Turn(TURN)
    if not due(timezone.now(), limit=1) or not turn.take():
        return 0
    until, compared = time.monotonic() + WORKS_FOR_S, 0
    model = WheelsModel(_whole_vectors, wheels_file()) if screening_model() else None
    try:
        for project_id, entry_id in due(timezone.now(), limit=BATCH):
            if time.monotonic() >= until:
                break
            turn.renew()
            try:
                compare(project_id, entry_id, model=model)
            except (ModelError, OperationalError):
                # The model or the database is away, or two waited for each other: none is the entry's fault.
                log.warning("entry %s is compared the next time", entry_id, exc_info=True)
                continue
            except Exception:
                log.exception("entry %s could not be compared", entry_id)
                continue
            ring_notebook(project_id)
            compared += 1
    finally:
        turn.give_up()
    return compared


# Gives entries their vectors, in the space that answers and in the one that is to: by one worker at a time.
#
# No transaction and no connection is held while a model computes. What is lost in a crash is one batch.

# Seconds of the wheel's model on two cores, and one request to a provider.
EMBED_BATCH = 16
TRIED = "What an entry says."
EMBED_TURN = "embed-entries:turn"
# A provider that gives other vectors than before is paid for them in vain until somebody changes something.
RESTS_S = 3_600


# Set when the worker stops: what is not done by then is done by the next.
stopping = threading.Event()


def embed_waiting(*, works_for_s: float = WORKS_FOR_S) -> bool:
    """Embeds what waits for it, for a while; whether there is more. Nothing where another worker is at it."""
    model = embedding_model()
    turn = Turn(EMBED_TURN)
    if model is None or not turn.take():
        return False
    try:
        return not _rests(model) and _embed(model, turn, until=time.monotonic() + works_for_s)
    except (ModelError, RedisError, OSError) as error:
        log.warning("entries wait for their vectors: %s", error)
        return False
    except WrongDimensions as error:
        _rest(model, error)
        return False
    finally:
        turn.give_up()


def _embed(model: str, turn: Turn, *, until: float) -> bool:
    try:
        drop_other_spaces(model)
    except DatabaseError as error:
        log.warning("the vectors of a former model stay for now: %s", error)
    mine = known_space(model) or wanted_space(model, len(_vectors_of([TRIED], model=model)[0]))
    answering = active_space()
    if answering is not None and answering.id != mine.id and not _rests(answering.model):
        # Its vectors are kept up to date until the other has all: whoever asks meanwhile misses nothing new.
        try:
            while time.monotonic() < until and not stopping.is_set() and _fill(answering, turn):
                pass
        except WrongDimensions as error:
            _rest(answering.model, error)
        except ModelError as error:
            log.warning("new entries are found by meaning once another model has taken over: %s", error)
    while _fill(mine, turn):
        if stopping.is_set() or time.monotonic() >= until:
            return True
    if activate_space(mine):
        log.info("entries are found by the vectors of %s from now on", model)
    return False


def _rests(model: str) -> bool:
    return cache.get(resting_key(model)) is not None


def _rest(model: str, error: WrongDimensions) -> None:
    log.error("entries wait for vectors of %s, which is asked again in an hour: %s", model, error)
    cache.set(resting_key(model), "1", RESTS_S)


def resting_key(model: str) -> str:
    """Under what the cache knows that the model is not asked for a while."""
    return f"embed-entries:rests:{hashlib.sha256(model.encode()).hexdigest()}"


def _fill(space: Space, turn: Turn) -> bool:
    """Gives the next few entries their vectors; whether there were any that could be given one."""
    turn.renew()
    batch = lacking_vectors(space, limit=EMBED_BATCH)
    return bool(batch) and keep_vectors(space, _embedded(batch, model=space.model, turn=turn)) > 0


def _embedded(batch: Sequence[Lacking], *, model: str, turn: Turn) -> list[tuple[Lacking, list[float] | None]]:
    """Each with its vector; with None those whose text the provider does not take, found by halving the batch."""
    try:
        vectors = _vectors_of([one.text for one in batch], model=model)
        return list(zip(batch, vectors, strict=True))
    except TextRefused as error:
        turn.renew()
        if len(batch) == 1:
            # Raises where the provider takes no text at all: then it is not this one's fault.
            _vectors_of([TRIED], model=model)
            log.warning("entry %s cannot be found by meaning, its text was refused: %s", batch[0].entry_id, error)
            return [(batch[0], None)]
    half = len(batch) // 2
    return [pair for part in (batch[:half], batch[half:]) for pair in _embedded(part, model=model, turn=turn)]


def _vectors_of(texts: list[str], *, model: str) -> list[list[float]]:
    with released():
        return embed(texts, model=model, as_query=False)


# Has the classifier read what was proposed or changed, and after an upgrade what is there: by one worker at a time.
#
# No transaction and no connection is held while the model computes. Without the wheel's model the rules screen alone.

SCREEN_BATCH = 16
SCREEN_TURN = "screen-entries:turn"


def screen_waiting(*, works_for_s: float = WORKS_FOR_S) -> bool:
    """Reads what waits for it, for a while; whether there is more. Nothing where another worker is at it."""
    turn = Turn(SCREEN_TURN)
    if screening_model() is None or not unread(limit=1) or not turn.take():
        return False
    until = time.monotonic() + works_for_s
    is_first = True
    try:
        while batch := unread(limit=SCREEN_BATCH):
            for one in batch:
                # One at least: else words that take long would keep all others waiting for ever.
                if stopping.is_set() or (not is_first and time.monotonic() >= until):
                    return True
                turn.renew()
                passages = one.passages()
                with released():
                    reading = reading_of(passages, log_odds(passages, model=wheels_file()))
                project = Project.objects.filter(pk=one.project_id).first() if reading.is_unsure else None
                if project is not None:
                    with released():
                        reading = replace(reading, opinion=second_opinion(project, reading.passage))
                with transaction.atomic():
                    flagged = keep_reading(one, reading)
                    if flagged is not None and flagged.state == EntryState.APPROVED:
                        notify_of_flag(flagged, actor=Actor())
                if flagged is not None:
                    ring_notebook(one.project_id)
                is_first = False
    except (ModelError, OperationalError, RedisError, OSError) as error:
        log.warning("entries wait to be read by the classifier: %s", error)
    finally:
        turn.give_up()
    return False


# A language model's opinion of a lesson that the classifier is unsure of. It adds flags and takes none away.

ROLE = "reflector"
# A script answers under the key "screen-lesson".
KEY = "screen"
WITHIN_S = 30.0
MOST_TOKENS = 300
LONGEST_PASSAGE = 1_000
LONGEST_WHY = 300


class ScreeningAnswer(BaseModel):
    model_config = ConfigDict(extra="ignore")

    hostile: StrictBool
    why: str = ""


def second_opinion(project: Project, passage: str) -> Opinion | None:
    """The opinion of the project's model that reflects; None if there is none, or it gave no usable answer."""
    if not can_look_back(ROLE, project.models_by_role, key=KEY, is_asked_for=False):
        return None
    model = model_for(ROLE, project.models_by_role)
    asked = framed(passage, name="lesson", most=LONGEST_PASSAGE)
    request = CompletionRequest(
        model=model,
        messages=(system(prompt("screen_system")), user(asked)),
        key=f"{KEY}-lesson",
        timeout_s=WITHIN_S,
        temperature=0.0,
        max_tokens=MOST_TOKENS,
    )
    try:
        answer = read_answer(complete(request).text, schema=ScreeningAnswer, asked=asked)
    except (ModelError, UnusableAnswerError) as error:
        log.warning("no second opinion on a lesson: %s", error)
        return None
    return Opinion(steers=answer.hostile, why=answer.why[:LONGEST_WHY], model=model)
