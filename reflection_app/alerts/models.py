"""Channels to chat services, what they are to be told and what was sent; escalations; digests that went out by mail."""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from reflection_app.core.ids import new_id
from reflection_app.core.models import Digest, Project
from reflection_app.reviews.models import Review
from reflection_app.runs.events import Event
from reflection_app.runs.models import Question
from reflection_app.teams.models import Outlet, Sent, Try


class ChannelKind(models.TextChoices):
    SLACK = "slack", "Slack"
    TEAMS = "teams", "Microsoft Teams"
    FEISHU = "feishu", "Feishu / Lark"
    DINGTALK = "dingtalk", "DingTalk"
    WECOM = "wecom", "WeCom"

    @property
    def signs(self) -> bool:
        """Whether the service checks a signature beside the address, made with a secret that it gives out."""
        return self in {ChannelKind.FEISHU, ChannelKind.DINGTALK}


class Topic(models.TextChoices):
    """What a channel can be told of."""

    REVIEW = "review", "A review waits"
    QUESTION = "question", "A question waits"
    ESCALATION = "escalation", "Something waits longer than the goal"
    RUN_FAILED = "run_failed", "A run failed"
    CONFLICT = "conflict", "Entries conflict"
    DAILY = "daily", "Daily digest"
    WEEKLY = "weekly", "Weekly digest"


class Channel(Outlet):
    """A room of a chat service, reached by an incoming webhook whose address is a secret: whoever has it may post.

    `ciphertext` holds the address and the secret that signs. `host` is all of the address that anybody is shown.
    """

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="channels")
    kind = models.CharField(max_length=8, choices=ChannelKind)
    name = models.CharField(max_length=80)
    ciphertext = models.TextField()
    host = models.CharField(max_length=300)
    has_secret = models.BooleanField(default=False)
    topics = ArrayField(models.CharField(max_length=10))
    language = models.CharField(max_length=10, default="en")
    # In the project's time zone; from the later to the earlier hour it is the night between.
    quiet_from = models.TimeField(null=True, blank=True)
    quiet_until = models.TimeField(null=True, blank=True)
    # Why the desk switched it off by itself.
    off_reason = models.TextField(blank=True, default="")
    # Nothing is sent before: messages keep their distance, and a service may ask for more.
    rest_until = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("created_at", "id")
        constraints = (models.UniqueConstraint(fields=("project", "name"), name="channel_name_once"),)

    def __str__(self) -> str:
        return self.name

    @property
    def state(self) -> str:
        if not self.is_enabled:
            return "off"
        return "failing" if self.failing_since is not None else "on"


class MessageState(models.TextChoices):
    """OBSOLETE: what it was to tell of had been dealt with before it could be sent."""

    WAITING = "waiting", "Waiting"
    DELIVERED = "delivered", "Delivered"
    GIVEN_UP = "given_up", "Given up"
    OBSOLETE = "obsolete", "Obsolete"


class ChannelMessage(Sent):
    """One message to a channel, of all that waited to be told when it was sent. `text` is what it said last."""

    channel = models.ForeignKey(Channel, on_delete=models.CASCADE, related_name="messages")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="+")
    is_test = models.BooleanField(default=False)
    text = models.TextField(blank=True, default="")
    state = models.CharField(max_length=10, choices=MessageState, default=MessageState.WAITING)
    # How often a worker was lost between sending it and noting what came of that.
    losses = models.PositiveSmallIntegerField(default=0)

    class Meta:
        constraints = (
            # What comes while one waits to be tried again goes with it.
            models.UniqueConstraint(
                fields=("channel",), name="channel_message_waits_once", condition=Q(state="waiting", is_test=False)
            ),
        )
        indexes = (models.Index(fields=("channel", "-created_at", "-id"), name="channel_message_newest"),)

    def __str__(self) -> str:
        return f"message to {self.channel_id}"


class ChannelTry(Try):
    message = models.ForeignKey(ChannelMessage, on_delete=models.CASCADE, related_name="log")

    class Meta:
        ordering = ("number",)
        constraints = (models.UniqueConstraint(fields=("message", "number"), name="channel_try_once"),)


class ChannelItem(models.Model):
    """Something that a channel is to be told; with `message`, what it was told it with.

    Of events and of the notebook's conflicts a trigger of the database writes them, in the transaction of the thing
    itself. `about_id` is the conflict, or the review or question that escalated; digests have neither.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    channel = models.ForeignKey(Channel, on_delete=models.CASCADE, related_name="items")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="+")
    topic = models.CharField(max_length=10, choices=Topic)
    event = models.ForeignKey(Event, null=True, blank=True, on_delete=models.CASCADE, related_name="+")
    about_id = models.UUIDField(null=True, blank=True)
    # Of a digest, the last day that it tells of.
    day = models.DateField(null=True, blank=True)
    message = models.ForeignKey(ChannelMessage, null=True, blank=True, on_delete=models.CASCADE, related_name="items")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=("channel", "topic", "day"), name="channel_digest_once", condition=Q(day__isnull=False)
            ),
        )
        indexes = (
            models.Index(fields=("channel", "created_at"), name="channel_item_due", condition=Q(message__isnull=True)),
        )

    def __str__(self) -> str:
        return f"{self.topic} for {self.channel_id}"


class Escalation(models.Model):
    """That a review or a question waited longer than the goal, which was told: the `number`th time for this wait."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="escalations")
    review = models.ForeignKey(Review, null=True, blank=True, on_delete=models.CASCADE, related_name="escalations")
    question = models.ForeignKey(Question, null=True, blank=True, on_delete=models.CASCADE, related_name="escalations")
    number = models.PositiveIntegerField(default=1)
    goal_minutes = models.PositiveIntegerField()
    created_at = models.DateTimeField()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("review", "number"), name="escalation_of_review_once"),
            models.UniqueConstraint(fields=("question", "number"), name="escalation_of_question_once"),
            models.CheckConstraint(
                name="escalation_of_one", condition=Q(review__isnull=False) ^ Q(question__isnull=False)
            ),
        )

    def __str__(self) -> str:
        return f"escalation {self.number}"


class DigestLetter(models.Model):
    """A member's digest of one day or week, written before it is sent: two workers never send the same."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    period = models.CharField(max_length=6, choices=Digest)
    day = models.DateField()
    # Nothing had happened and nothing waited: no letter was sent.
    is_empty = models.BooleanField(default=False)
    failures = models.PositiveSmallIntegerField(default=0)
    # Until when a worker has it in hand, and when it went out.
    lease_until = models.DateTimeField(null=True, blank=True)
    sent_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("project", "user", "period", "day"), name="digest_letter_once"),)

    def __str__(self) -> str:
        return f"{self.period} digest for {self.user_id}"
