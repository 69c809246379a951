"""A language model's opinion of a lesson that the classifier is unsure of. It adds flags and takes none away."""

import logging

from pydantic import BaseModel, ConfigDict, StrictBool

from notebook_app.screening import Opinion
from reflection_app.adapters.llm import CompletionRequest, ModelError, can_look_back, complete, model_for
from reflection_app.core.models import Project
from reflection_app.loops.answer_reading import UnusableAnswerError, read_answer
from reflection_app.loops.framing import framed
from reflection_app.loops.prompts import prompt
from reflection_app.loops.values import system, user

log = logging.getLogger(__name__)

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
