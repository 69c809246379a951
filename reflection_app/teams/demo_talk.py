"""What people say in the demo project: one asks for a look at an attempt, and mentions the first user in a comment."""

from django.contrib.auth.models import User

from reflection_app.core.audit import Actor
from reflection_app.core.models import Project
from reflection_app.reviews.asking import AskInput, ask_for_review
from reflection_app.reviews.comments import CommentInput, add_comment
from reflection_app.reviews.models import About, Review, ReviewState
from reflection_app.runs.models import Run
from reflection_app.teams.demo_stories import DEMO_REVIEWER

RELEASE_NOTE = "demo-release-note"
REFUND_REPLY = "demo-refund-reply"


def talk_in_demo(project: Project, *, admin: User) -> None:
    """Has the demo's reviewer ask `admin` for a look and mention them; nothing where the stories were not told."""
    reviewer = User.objects.filter(username=DEMO_REVIEWER).first()
    if reviewer is None:
        return
    actor = Actor(user=reviewer)
    if told := _run_of(project, RELEASE_NOTE):
        note = "升级步骤对吗？请在发布前看一眼。 (Are the upgrade steps right? Please look before we publish.)"
        ask_for_review(told, AskInput(note=note, assignee=admin.get_username()), actor=actor)
    waiting = Review.objects.filter(project=project, state=ReviewState.WAITING, run=_run_of(project, REFUND_REPLY))
    if review := waiting.first():
        text = f"@{admin.get_username()} Our policy lets the customer choose. Does this reply leave her the choice?"
        add_comment(project, About.REVIEW, review.pk, CommentInput(text=text), actor=actor)


def _run_of(project: Project, script: str) -> Run | None:
    return Run.objects.filter(project=project, spec__models__default=f"scripted/{script}").first()
