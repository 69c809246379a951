"""What entries mean, as vectors. Spaces are one a model: vectors of two models cannot be compared."""

from django.db import models
from django.db.models import Q
from pgvector.django import HalfVectorField

from notebook_app.models.entry import Entry, new_id


class SpaceState(models.TextChoices):
    FILLING = "filling"
    ACTIVE = "active"


class EmbeddingSpace(models.Model):
    """One model's vectors. While a new model's space is being filled, the active one answers."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    model = models.CharField(max_length=200, unique=True)
    dimensions = models.PositiveIntegerField()
    state = models.CharField(max_length=7, choices=SpaceState, default=SpaceState.FILLING)
    created_at = models.DateTimeField(auto_now_add=True)
    activated_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("state",), condition=Q(state="active"), name="one_active_space"),
        )

    def __str__(self) -> str:
        return self.model


class Embedding(models.Model):
    """The vector of one entry's text; `text_hash` tells whether the entry still has that text.

    The column has no dimensions: an index for a space's is made when the space is (see embedding_spaces.py).
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    entry = models.ForeignKey(Entry, on_delete=models.CASCADE, related_name="embeddings")
    space = models.ForeignKey(EmbeddingSpace, on_delete=models.CASCADE, related_name="embeddings")
    project_id = models.UUIDField()
    text_hash = models.CharField(max_length=64)
    vector = HalfVectorField()
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("entry", "space"), name="embedding_once"),)
        indexes = (models.Index(fields=("project_id", "space"), name="embedding_of_project"),)

    def __str__(self) -> str:
        return f"embedding of {self.entry_id}"
