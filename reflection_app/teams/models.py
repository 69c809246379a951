"""Invitations, webhooks and their deliveries, notifications, retention runs, tools and secrets."""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils import timezone

from reflection_app.core.ids import new_id
from reflection_app.core.models import ApiKey, Project, Role
from reflection_app.loops.tool_calls import ToolSpec
from reflection_app.loops.tool_permission import ToolEffect, ToolRule, effect_by_config
from reflection_app.reviews.models import About, Comment
from reflection_app.runs.events import Event

# Invitations: a link, shown once, that makes whoever follows it a member of a project.


class InvitationQuerySet(models.QuerySet["Invitation"]):
    def usable(self) -> "InvitationQuerySet":
        """Invitations that nobody has followed yet, neither revoked nor expired, nor of a key that is."""
        is_of_working_key = Q(created_by_key__isnull=True) | Q(created_by_key__in=ApiKey.objects.usable())
        return self.filter(
            is_of_working_key, accepted_at__isnull=True, revoked_at__isnull=True, expires_at__gt=timezone.now()
        )


class Invitation(models.Model):
    """Only the hash of the link's secret is kept. `email`, where given, is the only account that may use it."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="invitations")
    role = models.CharField(max_length=10, choices=Role, default=Role.REVIEWER)
    email = models.EmailField(blank=True, default="")
    digest = models.CharField(max_length=64, unique=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="invitations_made"
    )
    created_by_key = models.ForeignKey(
        ApiKey, null=True, blank=True, on_delete=models.SET_NULL, related_name="invitations_made"
    )
    created_by_label = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    accepted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="invitations_accepted"
    )
    accepted_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    objects = InvitationQuerySet.as_manager()

    class Meta:
        indexes = (
            models.Index(
                fields=("project", "-created_at"),
                name="invitation_open",
                condition=Q(accepted_at__isnull=True, revoked_at__isnull=True),
            ),
        )

    def __str__(self) -> str:
        return f"invitation to {self.project_id}"


# Webhooks, and the outbox of what they are to be sent.
#
# Deliveries of events are written by a trigger of the database (the first migration), in the transaction that wrote the
# event: whatever adds an event, nothing is sent of a change that was taken back, and nothing is forgotten.

TEST = "webhook.test"
# What goes last: a receiver that wants all steps is told of ends and reviews first.
OF_STEPS = Q(type__startswith="step.")


class Outlet(models.Model):
    """Where a project's news are sent: a webhook, or a channel of a chat service."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    is_enabled = models.BooleanField(default=True)
    # Since when nothing has arrived; None while things do.
    failing_since = models.DateTimeField(null=True, blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        abstract = True

    def keep(self, **fields: object) -> None:
        """Save these fields alone."""
        for name, value in fields.items():
            setattr(self, name, value)
        self.save(update_fields=[*fields, "updated_at"])


class Sent(models.Model):
    """One message to an outlet: tried until it arrives or is given up, and held by a lease while it is sent."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tries = models.PositiveSmallIntegerField(default=0)
    next_at = models.DateTimeField(null=True, blank=True)
    # Until when a worker has it in hand.
    lease_until = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    delivered_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True


class Try(models.Model):
    """One request and its response."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    number = models.PositiveSmallIntegerField()
    status = models.PositiveSmallIntegerField(null=True, blank=True)
    answer = models.TextField(blank=True, default="")
    error = models.TextField(blank=True, default="")
    duration_s = models.FloatField(default=0.0)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"try {self.number}"


class Webhook(Outlet):
    """An address that is told of a project's events.

    While it is paused after failures, deliveries are still written and wait; while it is
    switched off, none are.
    """

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="webhooks")
    url = models.TextField()
    description = models.CharField(max_length=200, blank=True, default="")
    events = ArrayField(models.CharField(max_length=30))
    ciphertext = models.TextField(help_text="the secret that signs, encrypted")
    # The secret before this one signs beside it until then, so that receivers can change over.
    former_ciphertext = models.TextField(blank=True, default="")
    former_until = models.DateTimeField(null=True, blank=True)
    paused_at = models.DateTimeField(null=True, blank=True)
    pause_reason = models.TextField(blank=True, default="")

    class Meta:
        ordering = ("created_at", "id")

    def __str__(self) -> str:
        return self.url

    @property
    def state(self) -> str:
        """`failing`: nothing arrives; after a day of that it is paused by itself."""
        if not self.is_enabled:
            return "off"
        if self.paused_at is not None:
            return "paused"
        return "failing" if self.failing_since is not None else "on"


class DeliveryState(models.TextChoices):
    WAITING = "waiting", "Waiting"
    DELIVERED = "delivered", "Delivered"
    GIVEN_UP = "given_up", "Given up"


class Delivery(Sent):
    """One message to one webhook. `payload` is written when it is first sent, and sent again as it is."""

    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="deliveries")
    event = models.ForeignKey(Event, null=True, blank=True, on_delete=models.SET_NULL, related_name="deliveries")
    type = models.CharField(max_length=30)
    payload = models.JSONField(null=True, blank=True)
    state = models.CharField(max_length=10, choices=DeliveryState, default=DeliveryState.WAITING)
    again = models.ForeignKey("self", null=True, blank=True, on_delete=models.SET_NULL, related_name="copies")

    class Meta:
        indexes = (
            models.Index(fields=("webhook", "next_at", "id"), name="delivery_due_to", condition=Q(state="waiting")),
            models.Index(
                fields=("webhook", "next_at", "id"),
                name="delivery_due_first",
                condition=Q(state="waiting") & ~OF_STEPS,
            ),
            models.Index(
                fields=("webhook", "lease_until"),
                name="delivery_held",
                condition=Q(state="waiting", lease_until__isnull=False),
            ),
            models.Index(fields=("webhook", "-created_at", "-id"), name="delivery_newest"),
            models.Index(fields=("event",), name="delivery_of_event"),
        )

    def __str__(self) -> str:
        return f"{self.type} to {self.webhook_id}"

    @property
    def message_id(self) -> str:
        """`webhook-id` of the Standard Webhooks scheme: the same for every try, new for a redelivery."""
        return f"msg_{self.pk.hex}"


class DeliveryTry(Try):
    delivery = models.ForeignKey(Delivery, on_delete=models.CASCADE, related_name="log")

    class Meta:
        ordering = ("number",)
        constraints = (models.UniqueConstraint(fields=("delivery", "number"), name="delivery_try_once"),)


# Notifications: what a person should know of, in the bell of the pages and, where mail is set up, by mail.


class NotificationKind(models.TextChoices):
    MENTIONED = "mentioned", "Mentioned"
    COMMENTED = "commented", "Commented on"
    ASSIGNED = "assigned", "Assigned"
    HANDED_OVER = "handed_over", "Handed over"
    ADJUDICATION = "adjudication", "Opinions differ"
    DECISION_UNDONE = "decision_undone", "Decision taken back"
    WEBHOOK_PAUSED = "webhook_paused", "Webhook paused"
    WEBHOOK_GONE = "webhook_gone", "Webhook switched off"
    CHANNEL_OFF = "channel_off", "Channel switched off"
    OVERDUE = "overdue", "Overdue"
    ENTRY_FLAGGED = "entry_flagged", "Entry flagged"


# What notifications are about beside the things that people comment on.
ABOUT_WEBHOOK = "webhook"
ABOUT_CHANNEL = "channel"
ABOUT_QUESTION = "question"
ABOUT = [
    *About.choices,
    (ABOUT_WEBHOOK, "Webhook"),
    (ABOUT_CHANNEL, "Channel"),
    (ABOUT_QUESTION, "Question"),
]


class Notification(models.Model):
    """`facts` are what its words are made of (who, the title): the words are put together in the reader's language."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="notifications")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="notifications")
    kind = models.CharField(max_length=16, choices=NotificationKind)
    facts = models.JSONField(default=dict)
    about = models.CharField(max_length=8, choices=ABOUT)
    about_id = models.UUIDField()
    comment = models.ForeignKey(Comment, null=True, blank=True, on_delete=models.CASCADE, related_name="notifications")
    created_at = models.DateTimeField(auto_now_add=True)
    read_at = models.DateTimeField(null=True, blank=True)
    mailed_at = models.DateTimeField(null=True, blank=True)
    # How often sending it by mail failed.
    mail_failures = models.PositiveSmallIntegerField(default=0)

    class Meta:
        constraints = (
            # A comment that is edited tells nobody twice of the same mention.
            models.UniqueConstraint(
                fields=("user", "comment", "kind"), name="told_of_comment_once", condition=Q(comment__isnull=False)
            ),
        )
        indexes = (
            models.Index(fields=("user", "-created_at", "-id"), name="notification_newest"),
            models.Index(fields=("user", "project"), name="notification_unread", condition=Q(read_at__isnull=True)),
            models.Index(fields=("created_at",), name="notification_unmailed", condition=Q(mailed_at__isnull=True)),
        )

    def __str__(self) -> str:
        return f"{self.kind} for {self.user}"


# What was deleted because a project keeps things for so long only.


class RetentionRun(models.Model):
    """One pass over a project. `deleted` counts rows by what people call them."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="retention_runs")
    by_label = models.CharField(max_length=200)
    deleted = models.JSONField(default=dict)
    started_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-started_at", "-id")

    def __str__(self) -> str:
        return f"retention of {self.project_id}"


# Tools that a project's runs may call, and the secrets that their headers refer to.


class ToolKind(models.TextChoices):
    HTTP = "http", "HTTP"
    MCP = "mcp", "MCP server"
    BUILTIN = "builtin", "Built in"


class EffectSetting(models.TextChoices):
    """A tool's effect class, as set by an admin. AUTO: by its MCP annotations or HTTP method, else external."""

    AUTO = "auto", "Automatic"
    READ = "read", "Reads"
    WRITE = "write", "Writes"
    EXTERNAL = "external", "Acts outside"


class Tool(models.Model):
    """`config` is what its kind needs, see adapters/tools/config.py: never a secret's value, only names of secrets.

    Calls of a tool that `is_allowed` are made without asking a reviewer.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="tools")
    name = models.CharField(max_length=64)
    description = models.TextField(blank=True, default="")
    parameters = models.JSONField(default=dict, blank=True)
    kind = models.CharField(max_length=10, choices=ToolKind)
    config = models.JSONField(default=dict, blank=True)
    timeout_s = models.FloatField(default=10.0)
    is_enabled = models.BooleanField(default=True)
    effect = models.CharField(max_length=8, choices=EffectSetting, default=EffectSetting.AUTO)
    is_allowed = models.BooleanField(default=False)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ("name",)
        constraints = (models.UniqueConstraint(fields=("project", "name"), name="tool_name_once"),)

    def __str__(self) -> str:
        return self.name

    def get_spec(self) -> ToolSpec:
        """The tool as loops know it."""
        return ToolSpec(name=self.name, description=self.description, parameters=self.parameters)

    @property
    def effect_class(self) -> ToolEffect:
        """The admin's setting, or else what the way of calling shows."""
        if self.effect != EffectSetting.AUTO:
            return ToolEffect(self.effect)
        return effect_by_config(self.kind, self.config)

    def get_rule(self) -> ToolRule:
        """What a run that begins now may do with the tool."""
        return ToolRule(effect=self.effect_class, is_allowed=self.is_allowed)


class Secret(models.Model):
    """A value that headers of tools refer to by name. It is sent to `origin` alone, the one it was entered for."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="secrets")
    name = models.CharField(max_length=64)
    origin = models.CharField(max_length=300)
    ciphertext = models.TextField()
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("name",)
        constraints = (models.UniqueConstraint(fields=("project", "name"), name="secret_name_once"),)

    def __str__(self) -> str:
        return self.name
