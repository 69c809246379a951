"""Sets of pairs, the pairs of answers to one task that people compare blindly, and what each of them said."""

from typing import NamedTuple

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q

from reflection_app.core.ids import new_id
from reflection_app.core.models import ApiKey, Project
from reflection_app.runs.models import Attempt

MOST_WANTED = 5


class ComparisonSet(models.Model):
    """Pairs that belong together: made of runs by `chosen`, or handed in by a pipeline where that is empty."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="comparison_sets")
    name = models.CharField(max_length=120)
    # How many people judge each of its pairs.
    wanted = models.PositiveSmallIntegerField(default=1)
    # By which filters its pairs were chosen, as `PairChoice` has them.
    chosen = models.JSONField(default=dict, blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="comparison_sets"
    )
    created_by_label = models.CharField(max_length=200, blank=True, default="")
    created_at = models.DateTimeField(auto_now_add=True)
    # Nobody is given its pairs any more, and none are added.
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = (models.Index(fields=("project", "-created_at", "-id"), name="comparison_set_newest"),)

    def __str__(self) -> str:
        return self.name

    @property
    def is_open(self) -> bool:
        return self.closed_at is None


class Pair(models.Model):
    """Two answers to one task, kept as they were when the pair was made. Which of them is A tells nothing."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="pairs")
    set = models.ForeignKey(ComparisonSet, on_delete=models.CASCADE, related_name="pairs", db_index=False)
    objective = models.TextField()
    # What the task of B says where it is not word for word that of A.
    objective_b = models.TextField(blank=True, default="")
    answer_a = models.TextField()
    answer_b = models.TextField()
    # Who made them: never told to whoever judges.
    model_a = models.CharField(max_length=200)
    model_b = models.CharField(max_length=200)
    prompt_a = models.CharField(max_length=120, blank=True, default="")
    prompt_b = models.CharField(max_length=120, blank=True, default="")
    # The attempts that they are, unless a pipeline handed them in. With an attempt its words go from here as well.
    attempt_a = models.ForeignKey(Attempt, null=True, blank=True, on_delete=models.CASCADE, related_name="pairs_as_a")
    attempt_b = models.ForeignKey(Attempt, null=True, blank=True, on_delete=models.CASCADE, related_name="pairs_as_b")
    # Whose work it is (`Actor.hand`): they are not given it.
    handed_in_by = ArrayField(models.CharField(max_length=40), default=list, blank=True)
    # As its set has it, and how many have judged: copies, so that claiming counts nothing.
    wanted = models.PositiveSmallIntegerField(default=1)
    judged = models.PositiveSmallIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (
            models.CheckConstraint(name="pair_wanted", condition=Q(wanted__gte=1, wanted__lte=MOST_WANTED)),
            models.CheckConstraint(name="pair_not_overjudged", condition=Q(judged__lte=F("wanted"))),
        )
        indexes = (
            models.Index(fields=("set", "created_at", "id"), name="pair_of_set"),
            models.Index(fields=("project", "judged", "id"), name="pair_open", condition=Q(judged__lt=F("wanted"))),
        )

    def __str__(self) -> str:
        return f"pair {self.id}"

    @property
    def is_done(self) -> bool:
        return self.judged >= self.wanted


class Side(models.TextChoices):
    """Which of the two answers of a pair."""

    A = "a", "A"
    B = "b", "B"


class Preference(models.TextChoices):
    """What somebody said of two answers side by side."""

    LEFT = "left", "Left"
    RIGHT = "right", "Right"
    TIE = "tie", "Tie"
    BOTH_BAD = "both_bad", "Both bad"


class JudgementState(models.TextChoices):
    CLAIMED = "claimed", "Claimed"
    JUDGED = "judged", "Judged"
    SKIPPED = "skipped", "Skipped"


class Shown(NamedTuple):
    """One of the two answers as it stands before whoever judges, with nothing about where it comes from."""

    objective: str
    answer: str


class PairJudgement(models.Model):
    """One person's seat at a pair: held, judged or passed over. No more than the pair wants are held or judged.

    A hold that ran out stays its person's until somebody else needs the seat.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="pair_judgements")
    pair = models.ForeignKey(Pair, on_delete=models.CASCADE, related_name="judgements", db_index=False)
    state = models.CharField(max_length=8, choices=JudgementState, default=JudgementState.CLAIMED)
    # The person who answers for it (`Actor.person_id`): somebody and the keys they made are one.
    person = models.IntegerField(null=True)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="pair_judgements"
    )
    by_label = models.CharField(max_length=200)
    # The key that judged, where it was no person; its name stays in the label.
    by_key = models.ForeignKey(ApiKey, null=True, blank=True, on_delete=models.SET_NULL, related_name="pair_judgements")
    is_by_key = models.BooleanField(default=False)
    # Which answer chance put on the left.
    left = models.CharField(max_length=1, choices=Side)
    lease_token = models.UUIDField(null=True, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    choice = models.CharField(max_length=8, null=True, blank=True, choices=Preference)
    reason = models.TextField(blank=True, default="")
    created_at = models.DateTimeField(auto_now_add=True)
    judged_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("pair", "person"), name="pair_person_once"),
            models.CheckConstraint(
                name="pair_choice_when_judged",
                condition=Q(state="judged", choice__isnull=False, judged_at__isnull=False)
                | (~Q(state="judged") & Q(choice__isnull=True, judged_at__isnull=True)),
            ),
        )
        indexes = (
            models.Index(
                fields=("project", "judged_at", "id"), name="pair_judged", condition=Q(judged_at__isnull=False)
            ),
            models.Index(fields=("project", "person", "state"), name="pair_of_person"),
        )

    def __str__(self) -> str:
        return f"{self.choice or self.state} by {self.by_label}"

    @property
    def sides(self) -> list[Shown]:
        """What stands on the left, then on the right, as chance has laid it out."""
        pair = self.pair
        sides = [Shown(pair.objective, pair.answer_a), Shown(pair.objective_b or pair.objective, pair.answer_b)]
        return sides if self.left == Side.A else sides[::-1]

    @property
    def right(self) -> Side:
        return Side.B if self.left == Side.A else Side.A

    @property
    def better(self) -> Side | None:
        """The answer that was found better; None of a tie, of two bad ones, and before anything was said."""
        if self.choice == Preference.LEFT:
            return Side(self.left)
        return self.right if self.choice == Preference.RIGHT else None
