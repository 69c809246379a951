"""What a model says of its own attempt, and the judgement that code draws from it: the weakest referee there is.

After the mode "Reflexion" of the design seeds; Shinn et al., 2023, arXiv:2303.11366.
"""

from typing import Annotated

from pydantic import BeforeValidator, Field

from reflection_app.loops.answer_reading import Clipped, Flag, Lenient, Share, Texts, as_described
from reflection_app.loops.answer_schemas import SHARE, YES_OR_NO, closed_object, texts
from reflection_app.loops.framing import frame_of, framed_task, truncated
from reflection_app.loops.prompts import prompt
from reflection_app.loops.values import Message, system, user
from reflection_app.loops.verdicts import Feedback, Issue, Judgement, Referee, Verdict

EVALUATION_TEMPERATURE = 0.3
REFLECTION_TEMPERATURE = 0.5
# A model that does not say how sure it is stands in the middle, for the score.
UNSAID_CONFIDENCE = 0.5


class SelfIssue(Lenient):
    """An issue of a self-evaluation; many models answer with an object where a sentence was asked for."""

    description: Clipped = Field(min_length=1)


class SelfEvaluation(Lenient):
    is_satisfactory: Flag
    issues: Annotated[tuple[SelfIssue, ...], BeforeValidator(as_described)] = ()
    confidence: Share | None = None

    @property
    def score(self) -> float:
        """0–100: a satisfied model is at 50 and above, the surer the higher; an unsatisfied one at 50 and below."""
        confidence = UNSAID_CONFIDENCE if self.confidence is None else self.confidence
        return 50 + 50 * confidence if self.is_satisfactory else 50 - 50 * confidence


class Reflection(Lenient):
    """Why an attempt was not good enough, and what to do about it."""

    issues: Texts = ()
    root_causes: Texts = ()
    suggestions: Texts = ()


EVALUATION_SCHEMA = closed_object(is_satisfactory=YES_OR_NO, issues=texts(8), confidence=SHARE)
REFLECTION_SCHEMA = closed_object(issues=texts(5), root_causes=texts(5), suggestions=texts(5))


def evaluation_question(*, objective: str, content: str) -> tuple[Message, ...]:
    """What the model is asked about its own attempt. The attempt cannot close its frame."""
    asked = prompt(
        "self_evaluate", objective=framed_task(objective), content=truncated(content), frame=frame_of(content)
    )
    return (system(prompt("self_system")), user(asked))


def reflection_question(*, objective: str, content: str, judgement: Judgement) -> tuple[Message, ...]:
    """What the model is asked about an attempt that was sent back by `judgement`."""
    asked = prompt(
        "reflect",
        objective=framed_task(objective),
        content=truncated(content),
        frame=frame_of(content),
        issues=issues_of(judgement),
    )
    return (system(prompt("self_system")), user(asked))


def issues_of(judgement: Judgement) -> str:
    """What the judgement says is wrong, as a list; a person's own words are part of it."""
    lines = [
        issue.description + (f" ({issue.suggested_fix})" if issue.suggested_fix else "") for issue in judgement.issues
    ]
    lines += judgement.feedback.suggestions
    return "\n".join(f"- {text}" for text in lines) or "- None was named."


def judge_itself(answer: SelfEvaluation, *, attempt: int, saw_all: bool = True) -> Judgement:
    """PASS where the model is satisfied, else REVISE: its own opinion is too weak to reject on.

    A model that did not see all of its attempt has no confidence, whatever it says; so a person is asked.
    """
    return Judgement(
        attempt=attempt,
        referee=Referee.SELF,
        verdict=Verdict.PASS if answer.is_satisfactory else Verdict.REVISE,
        score=answer.score,
        confidence=answer.confidence if saw_all else 0.0,
        issues=tuple(Issue(description=issue.description) for issue in answer.issues),
        feedback=Feedback(),
    )
