"""Webhooks, and the outbox of what they are to be sent.

Deliveries of events are written by a trigger of the database (migration 0006), in the transaction that wrote the event:
whatever adds an event, nothing is sent of a change that was taken back, and nothing is forgotten.
"""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from reflection_app.core.events import Event
from reflection_app.core.ids import new_id
from reflection_app.core.models import Project

TEST = "webhook.test"
# What goes last: a receiver that wants all steps is told of ends and reviews first.
OF_STEPS = Q(type__startswith="step.")


class Webhook(models.Model):
    """An address that is told of a project's events.

    While it is paused, by itself after failures or by a person, deliveries are still written and wait; while it is
    switched off, none are.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="webhooks")
    url = models.TextField()
    description = models.CharField(max_length=200, blank=True, default="")
    events = ArrayField(models.CharField(max_length=30))
    ciphertext = models.TextField(help_text="the secret that signs, encrypted")
    # The secret before this one signs beside it until then, so that receivers can change over.
    former_ciphertext = models.TextField(blank=True, default="")
    former_until = models.DateTimeField(null=True, blank=True)
    is_enabled = models.BooleanField(default=True)
    paused_at = models.DateTimeField(null=True, blank=True)
    pause_reason = models.TextField(blank=True, default="")
    # Since when nothing has arrived; None while things do.
    failing_since = models.DateTimeField(null=True, blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ("created_at", "id")

    def __str__(self) -> str:
        return self.url


class DeliveryState(models.TextChoices):
    WAITING = "waiting", "Waiting"
    DELIVERED = "delivered", "Delivered"
    GIVEN_UP = "given_up", "Given up"


class Delivery(models.Model):
    """One message to one webhook. `payload` is written when it is first sent, and sent again as it is."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="deliveries")
    event = models.ForeignKey(Event, null=True, blank=True, on_delete=models.SET_NULL, related_name="deliveries")
    type = models.CharField(max_length=30)
    payload = models.JSONField(null=True, blank=True)
    state = models.CharField(max_length=10, choices=DeliveryState, default=DeliveryState.WAITING)
    tries = models.PositiveSmallIntegerField(default=0)
    next_at = models.DateTimeField(null=True, blank=True)
    # Until when a worker has it in hand.
    lease_until = models.DateTimeField(null=True, blank=True)
    again = models.ForeignKey("self", null=True, blank=True, on_delete=models.SET_NULL, related_name="copies")
    created_at = models.DateTimeField(auto_now_add=True)
    delivered_at = models.DateTimeField(null=True, blank=True)

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


class DeliveryTry(models.Model):
    """One request, and what came back."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    delivery = models.ForeignKey(Delivery, on_delete=models.CASCADE, related_name="log")
    number = models.PositiveSmallIntegerField()
    status = models.PositiveSmallIntegerField(null=True, blank=True)
    answer = models.TextField(blank=True, default="")
    error = models.TextField(blank=True, default="")
    duration_s = models.FloatField(default=0.0)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("number",)
        constraints = (models.UniqueConstraint(fields=("delivery", "number"), name="delivery_try_once"),)

    def __str__(self) -> str:
        return f"try {self.number}"
