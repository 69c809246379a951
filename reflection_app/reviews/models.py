"""Reviews, panels, bulk decisions and comments."""

from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from reflection_app.core.audit import Actor
from reflection_app.core.ids import new_id
from reflection_app.core.models import ApiKey, Project
from reflection_app.loops.attempt_effects import Decision, DirectorsDecision, ReviewDecision, ReviewReason
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.runs.models import Attempt, Run, Step, Verdict

# Reviews: verdicts that a person looks at, and what the person decided.


# Panels: several people judge the same verdict without seeing each other's decisions.


class PanelState(models.TextChoices):
    """OPEN: opinions are missing. DISPUTED: opinions differ, and one more reviewer decides. The other two are final."""

    OPEN = "open", "Open"
    DISPUTED = "disputed", "Disputed"
    SETTLED = "settled", "Settled"
    WITHDRAWN = "withdrawn", "Withdrawn"


class Panel(models.Model):
    """Its seats are reviews, as many as `wanted`. `agreed` is None until all of them are decided."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="panels")
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="panels")
    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, related_name="panels")
    verdict = models.ForeignKey(Verdict, on_delete=models.CASCADE, related_name="panels")
    step = models.ForeignKey(Step, null=True, blank=True, on_delete=models.CASCADE, related_name="panels")
    # That of the seats, for the review that settles a dispute has a reason of its own.
    reason = models.CharField(max_length=20, choices=[(reason.value, reason.value) for reason in ReviewReason])
    holds_run = models.BooleanField()
    wanted = models.PositiveSmallIntegerField()
    state = models.CharField(max_length=10, choices=PanelState, default=PanelState.OPEN)
    agreed = models.BooleanField(null=True, blank=True)
    # Somebody took an opinion back after all were in, and so had read the others' before giving another.
    was_reopened = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)
    # When the last opinion came in.
    complete_at = models.DateTimeField(null=True, blank=True)
    settled_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = (
            models.Index(
                fields=("project", "complete_at"), name="panel_complete", condition=models.Q(agreed__isnull=False)
            ),
            models.Index(fields=("run",), name="panel_of_run"),
        )

    def __str__(self) -> str:
        return f"panel of {self.wanted}"


MEANS = {
    VerdictName.PASS: DirectorsDecision.ACCEPT,
    VerdictName.REVISE: DirectorsDecision.REDO,
    VerdictName.REJECT: DirectorsDecision.CLOSE,
}


class ReviewState(models.TextChoices):
    WAITING = "waiting", "Waiting"
    CLAIMED = "claimed", "Claimed"
    DECIDED = "decided", "Decided"
    WITHDRAWN = "withdrawn", "Withdrawn"


OPEN = (ReviewState.WAITING, ReviewState.CLAIMED)


class Review(models.Model):
    """An item of the queue, which one person decides.

    `holds_run` tells a review that the run waits for from an audit, which it does not. Where several people judge
    blindly, each has a review of their own, a seat of the `panel`; what is said there is kept in `opinion` and becomes
    a verdict only when the panel is settled. Who decides, or holds it, is in the labels even where it is no user.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="reviews")
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="reviews")
    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, related_name="reviews")
    verdict = models.ForeignKey(Verdict, on_delete=models.CASCADE, related_name="reviews")
    # What asked for it. A person may ask as well, outside of the journal.
    step = models.ForeignKey(Step, null=True, blank=True, on_delete=models.CASCADE, related_name="reviews")
    panel = models.ForeignKey(Panel, null=True, blank=True, on_delete=models.CASCADE, related_name="seats")
    reason = models.CharField(max_length=20, choices=[(reason.value, reason.value) for reason in ReviewReason])
    holds_run = models.BooleanField()
    state = models.CharField(max_length=10, choices=ReviewState, default=ReviewState.WAITING)
    # The first of the project's queues whose rule it fits. Kept, so that who claims the next one evaluates no rules.
    queue = models.ForeignKey(
        "ReviewQueue", null=True, blank=True, on_delete=models.SET_NULL, related_name="reviews", db_index=False
    )

    holder = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="held_reviews"
    )
    holder_label = models.CharField(max_length=200, blank=True, default="")
    # The person who answers for who holds it (`Actor.person_id`): somebody and the keys they made are one.
    holder_person = models.IntegerField(null=True, blank=True)
    # Whose work is judged, as the run has it: they are not given it. A copy, so that claiming joins nothing.
    handed_in_by = ArrayField(models.CharField(max_length=40), default=list, blank=True)
    lease_token = models.UUIDField(null=True, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    # Kept for this person: nobody else is given it as the next one.
    assignee = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="assigned_reviews"
    )
    # What the person who asked for it, or who assigned it or handed it over, said.
    note = models.TextField(blank=True, default="")
    note_by_label = models.CharField(max_length=200, blank=True, default="")

    opinion = models.JSONField(null=True, blank=True)
    decision = models.CharField(
        max_length=10, null=True, blank=True, choices=[(decision.value, decision.value) for decision in Decision]
    )
    decided_verdict = models.ForeignKey(
        Verdict, null=True, blank=True, on_delete=models.SET_NULL, related_name="decided_by_reviews"
    )
    decision_reason = models.TextField(blank=True, default="")
    # The reviewer's own text, where the decision was to edit the answer. One that was taken back is kept for the next.
    edited_answer = models.TextField(null=True, blank=True)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="decided_reviews"
    )
    decided_by_label = models.CharField(max_length=200, blank=True, default="")
    # The key that decided, where it was no person.
    decided_by_key = models.ForeignKey(
        ApiKey, null=True, blank=True, on_delete=models.SET_NULL, related_name="decided_reviews"
    )
    decided_at = models.DateTimeField(null=True, blank=True)
    # The number of the run's event that told of the decision: once outsiders know it, it stands.
    decided_seq = models.PositiveIntegerField(null=True, blank=True)
    # The run that was begun because an audited verdict was overruled.
    ordered_run = models.ForeignKey(Run, null=True, blank=True, on_delete=models.SET_NULL, related_name="ordered_by")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (
            # Nobody has two seats of a panel, in whatever tabs and with whichever keys they claim.
            models.UniqueConstraint(
                fields=("panel", "holder_person"),
                name="seat_once",
                condition=Q(panel__isnull=False, state__in=("claimed", "decided")) & ~Q(reason="adjudication"),
            ),
        )
        indexes = (
            models.Index(
                fields=("project", "-holds_run", "created_at", "id"),
                name="review_open_first",
                condition=Q(state__in=("waiting", "claimed")),
            ),
            models.Index(
                fields=("project", "created_at", "id"),
                name="review_oldest",
                condition=Q(state__in=("waiting", "claimed")),
            ),
            models.Index(
                fields=("project", "-holds_run", "created_at", "id"),
                name="review_next",
                condition=Q(state__in=("waiting", "claimed"), assignee__isnull=True),
            ),
            models.Index(
                fields=("assignee", "project", "-holds_run", "created_at", "id"),
                name="review_assigned",
                condition=Q(state__in=("waiting", "claimed"), assignee__isnull=False),
            ),
            models.Index(
                fields=("project", "reason"), name="review_by_reason", condition=Q(state__in=("waiting", "claimed"))
            ),
            models.Index(fields=("project", "-created_at", "-id"), name="review_newest"),
            models.Index(fields=("project", "state", "-created_at", "-id"), name="review_by_state"),
            models.Index(fields=("project", "-decided_at", "-id"), name="review_decided", condition=Q(state="decided")),
            models.Index(fields=("run",), name="review_of_run"),
            models.Index(
                fields=("queue", "-holds_run", "created_at", "id"),
                name="review_in_queue",
                condition=Q(state__in=("waiting", "claimed"), queue__isnull=False),
            ),
        )

    def __str__(self) -> str:
        return f"review {self.id}"

    @property
    def is_open(self) -> bool:
        return self.state in OPEN

    @property
    def is_held(self) -> bool:
        """Whether somebody's hold on it has not run out."""
        return self.state == ReviewState.CLAIMED and bool(self.lease_until and self.lease_until > timezone.now())

    @property
    def is_pick(self) -> bool:
        """Whether the question is which attempt to keep."""
        return self.reason in (ReviewReason.UNSETTLED_PICK, ReviewReason.BROKEN_TESTS)

    @property
    def is_for_director(self) -> bool:
        """Whether a rejected attempt waits for a person to order it again, accept it anyway or close it."""
        return self.holds_run and self.verdict.verdict == VerdictName.REJECT and not self.is_pick

    def directors_decision_with(self, verdict: str) -> DirectorsDecision | None:
        """What giving this verdict amounts to, of a review that is the director's."""
        return MEANS[VerdictName(verdict)] if self.is_for_director else None

    @property
    def is_edited(self) -> bool:
        """Whether it was decided by a text of the reviewer's own."""
        return self.decision is not None and self.edited_answer is not None

    @property
    def directors_decision(self) -> DirectorsDecision | None:
        """What was decided about a REJECT; None while nothing is, where it was edited, and of every other review."""
        if self.is_edited or self.decided_verdict is None:
            return None
        return self.directors_decision_with(self.decided_verdict.verdict)

    @property
    def why(self) -> list[str]:
        """What the loop tells the reviewer of its reasons, as its step keeps it."""
        return [str(reason) for reason in self._request.get("why", ())]

    @property
    def rule(self) -> int | None:
        """The number of the run's policy rule that asks, from 1; None where something else does."""
        number = self._request.get("rule")
        return number if isinstance(number, int) else None

    @property
    def _request(self) -> dict[str, Any]:
        request = self.step.request if self.step else None
        return request if isinstance(request, dict) else {}

    @property
    def is_seat(self) -> bool:
        """Whether it is one of several blind opinions."""
        return self.panel_id is not None and self.reason != ReviewReason.ADJUDICATION

    def get_opinion(self) -> ReviewDecision | None:
        """What was said at a seat of a panel; None where nothing was yet, and of every other review."""
        return ReviewDecision.model_validate(self.opinion) if self.opinion else None


class ReviewSkip(models.Model):
    """That somebody passed an item on: it is not given to them again as the next one."""

    review = models.ForeignKey(Review, on_delete=models.CASCADE, related_name="skips")
    by_label = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("review", "by_label"), name="skip_once"),)

    def __str__(self) -> str:
        return f"skipped by {self.by_label}"


# Comments of people on reviews, runs and entries of the notebook.


class About(models.TextChoices):
    """Type of object that a comment or notification is about."""

    REVIEW = "review", "Review"
    RUN = "run", "Run"
    ENTRY = "entry", "Notebook entry"


class Comment(models.Model):
    """`about_id` is no foreign key: entries belong to another app, and comments outlive what they are about."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="comments")
    about = models.CharField(max_length=8, choices=About)
    about_id = models.UUIDField()
    author = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="comments")
    author_label = models.CharField(max_length=200)
    text = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)
    edited_at = models.DateTimeField(null=True, blank=True)
    # The text of a comment that was taken back is emptied.
    deleted_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("created_at", "id")
        indexes = (models.Index(fields=("about", "about_id", "created_at"), name="comment_about"),)

    def __str__(self) -> str:
        return f"comment of {self.author_label}"


# Bulk decisions: many reviews decided together with one reason, item by item, each with its own result.


class BulkState(models.TextChoices):
    """RUNNING and UNDOING are worked on; DONE and UNDONE are over, each item having its own result."""

    RUNNING = "running", "Running"
    DONE = "done", "Done"
    UNDOING = "undoing", "Undoing"
    UNDONE = "undone", "Undone"


class BulkDecision(models.Model):
    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="bulk_decisions")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="bulk_decisions"
    )
    user_label = models.CharField(max_length=200)
    api_key = models.ForeignKey(ApiKey, null=True, on_delete=models.SET_NULL, related_name="bulk_decisions")
    # From where the person acted, for the trail: the items are worked through after the request.
    address = models.GenericIPAddressField(null=True)
    # The language in which the person is told why an item failed.
    language = models.CharField(max_length=10, default="en")
    # What is decided of every item, as DecisionInput without its lease.
    decision = models.JSONField()
    state = models.CharField(max_length=8, choices=BulkState, default=BulkState.RUNNING)
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = (models.Index(fields=("project", "-created_at", "-id"), name="bulk_newest"),)

    def __str__(self) -> str:
        return f"bulk decision by {self.user_label}"

    @property
    def actor(self) -> Actor:
        """Who decides, for the actions on its items."""
        return Actor(user=self.user, api_key=self.api_key, address=self.address)

    @property
    def is_under_way(self) -> bool:
        return self.state in {BulkState.RUNNING, BulkState.UNDOING}


class BulkItemState(models.TextChoices):
    PENDING = "pending", "Pending"
    DONE = "done", "Decided"
    FAILED = "failed", "Not decided"
    UNDONE = "undone", "Undone"
    KEPT = "kept", "Could not be undone"


class BulkItem(models.Model):
    bulk = models.ForeignKey(BulkDecision, on_delete=models.CASCADE, related_name="items")
    review = models.ForeignKey(Review, on_delete=models.CASCADE, related_name="bulk_items")
    position = models.PositiveIntegerField()
    state = models.CharField(max_length=8, choices=BulkItemState, default=BulkItemState.PENDING)
    # Why it was not decided, or could not be taken back.
    error = models.TextField(blank=True, default="")

    class Meta:
        ordering = ("position",)
        constraints = (models.UniqueConstraint(fields=("bulk", "review"), name="bulk_item_once"),)

    def __str__(self) -> str:
        return f"item {self.position}"


# What several people say blindly of the same verdict is hidden from all others until the last of them has spoken.

if TYPE_CHECKING:
    from django.db.models import QuerySet


# How the trail calls that a decision was taken back; `before` holds it, and by whom it was given.
UNDONE = "review.undone"


def is_hidden(review: Review, *, reader: Actor | None = None) -> bool:
    """Whether what was decided at this seat is not told to `reader` yet; without a reader, to anybody.

    Only its giver knows it while the panel is open. Ask for reviews with their panel (`select_related("panel")`).
    """
    if not review.is_seat or review.panel is None or review.panel.state != PanelState.OPEN:
        return False
    return reader is None or review.state != ReviewState.DECIDED or review.decided_by_label != reader.label


def seats_of_open_panels(project_id: UUID) -> "QuerySet[Review]":
    """The seats of which nobody may be told what was said there, but who said it."""
    return Review.objects.filter(project=project_id, panel__state=PanelState.OPEN)


def telling_opinions(*, reader: Actor) -> Q:
    """The bulk decisions of which it would tell `reader` what its giver says at a blind seat."""
    return Q(Exists(_seats_in_bulk().filter(bulk=OuterRef("pk")))) & ~Q(user_label=reader.label)


def _seats_in_bulk() -> "QuerySet[BulkItem]":
    """Items of bulk decisions that are seats of open panels. Also one that failed tells what its giver thinks."""
    return BulkItem.objects.filter(review__panel__state=PanelState.OPEN)


def hidden_entries(project_id: UUID, *, reader: Actor) -> Q:
    """The entries of the audit trail whose `before` and `after` are not told to `reader` yet.

    An opinion that was taken back stays hidden, too, though somebody else may sit there by now. So it does from an
    admin who took it back: undoing is no way to read it.
    """
    given = Q(actor_label=reader.label) & ~Q(action=UNDONE)
    own = given | Q(action=UNDONE, before__by=reader.label)
    bulks = _seats_in_bulk().filter(bulk__project=project_id).values("bulk")
    told_there = Q(target="review", target_id__in=seats_of_open_panels(project_id).values("pk"))
    return (told_there | Q(target="bulkdecision", target_id__in=bulks)) & ~own
