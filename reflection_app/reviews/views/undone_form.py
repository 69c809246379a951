"""What was decided before it was taken back, as the form of the decision begins with it."""

from typing import Any

from reflection_app.loops.effects import DirectorsDecision
from reflection_app.loops.verdicts import Verdict
from reflection_app.reviews.models.review import Review, ReviewState
from reflection_app.reviews.undo_decision import taken_back_by_holder


def begun_with_undone(review: Review, *, fields: tuple[str, ...]) -> dict[str, Any]:
    """What the form begins with for whoever holds a review whose decision was taken back; nothing for all others.

    `fields` are those of an issue.
    """
    said = taken_back_by_holder(review) if review.state == ReviewState.CLAIMED else None
    if said is None or not said.get("verdict"):
        return {}
    issues = tuple({name: str(issue.get(name, "")) for name in fields} for issue in said["issues"])
    begun = {"verdict": said["verdict"], "score": f"{said['score']:g}", "reason": said["reason"], "issues": issues}
    if review.is_pick:
        return begun | {"pick": _pressed(said, review)}
    directed = said.get("directors_decision")
    if directed == DirectorsDecision.REDO:
        # The order itself is the first of them, and stands in the reason.
        begun["issues"] = issues[1:]
    return begun | {"decision": directed or said["decision"]}


def _pressed(said: dict[str, Any], review: Review) -> str:
    """The button that was pressed on the page of an unsettled pick."""
    buttons = {Verdict.REJECT.value: "none", Verdict.REVISE.value: "back"}
    number = said.get("attempt") or said.get("picked") or review.attempt.number
    return buttons.get(said["verdict"], str(number))
