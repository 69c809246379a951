"""Projects with a rubric, and reviews of attempts that a critic rated by it."""

import json
from typing import Any

from reflection_app.core.audit import Actor
from reflection_app.core.models import Project
from reflection_app.reviews.models import Review
from reflection_app.rubrics.changing import RubricInput, change_rubric
from tests import given

CRITERIA: list[dict[str, Any]] = [
    {"key": "correct", "name": "Correct", "help": "Nothing is wrong.", "weight": 3, "must_hold": True},
    {"key": "tone", "name": "Tone", "scale": "pass_fail"},
    {
        "key": "ready",
        "name": "Ready",
        "scale": "category",
        "choices": [{"name": "no", "worth": 0}, {"name": "yes", "worth": 100}],
    },
    {"key": "remark", "name": "Remark", "scale": "text"},
]
GOOD = {"correct": 5, "tone": "pass", "ready": "yes", "remark": "Fine."}


def rated_critique(confidence: float = 0.9, **ratings: Any) -> str:
    """A critic's answer that rates as `ratings` say, and well in all else."""
    told = {key: {"why": f"Why {key}.", "value": value} for key, value in (GOOD | ratings).items()}
    return json.dumps({"ratings": told, "confidence": confidence, "feedback": {}, "issues": []})


def rubric_project(name: str, *, first: str, **fields: Any) -> Project:
    """A project with CRITERIA whose critic says `first` of the first attempt and is content with the second."""
    answers = {
        "attempt-1/answer": "A first text.",
        "attempt-1/critique": first,
        "attempt-2/answer": "A second text.",
        "attempt-2/critique": rated_critique(),
    }
    project = given.scripted_project(name, answers, **fields)
    change_rubric(project, RubricInput(criteria=CRITERIA), actor=Actor())
    return project


def rated_review(name: str, *, confidence: float = 0.2, **ratings: Any) -> Review:
    """The review of a first attempt that an unsure critic rated."""
    return given.waiting_review(rubric_project(name, first=rated_critique(confidence, **ratings)), mode="actor_critic")


def as_ratings(**ratings: Any) -> dict[str, dict[str, Any]]:
    return {key: {"value": value} for key, value in ({"correct": 5, "tone": "pass", "ready": "yes"} | ratings).items()}
