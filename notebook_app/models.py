"""The notebook's tables. Projects are known by their id alone: the notebook knows nothing of the rest."""

from uuid import UUID

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from pgvector.django import HalfVectorField
from uuid_utils.compat import uuid7

from notebook_app.identity import nfc
from notebook_app.kinds import Change, EntryKind, EntryState, words_of


def new_id() -> UUID:
    return uuid7()


class Entry(models.Model):
    """Something learned. `source` and `fingerprint` tell proposals of the same thing apart from new ones.

    `state`, `version` and what a version keeps change together, by notebook_app/changing.py alone.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project_id = models.UUIDField()
    kind = models.CharField(max_length=20, choices=EntryKind)
    state = models.CharField(max_length=10, choices=EntryState, default=EntryState.PROPOSED)
    version = models.PositiveIntegerField(default=1)
    name = models.CharField(max_length=200)
    description = models.TextField(blank=True, default="")
    content = models.TextField(blank=True, default="")
    # The fields of its kind (see kinds.py), where it has some.
    details = models.JSONField(default=dict, blank=True)
    agent = models.CharField(max_length=120, blank=True, default="")
    category = models.CharField(max_length=120, blank=True, default="")
    tags = ArrayField(models.CharField(max_length=60), default=list, blank=True)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    # The agents that it was seen at, the first one first. It is retrieved for all of them while `agent` is one of them;
    # a curator who sets another agent, or none, decides alone.
    agents = ArrayField(models.CharField(max_length=120, blank=True), default=list, blank=True)
    source = models.CharField(max_length=200)
    # `text_key` (see identity.py) of the words it was first proposed in. Proposed again in these after an edit, it is
    # counted here.
    fingerprint = models.CharField(max_length=64)
    # The same of the words that it has now; empty in rows from an archive until they are indexed.
    text_key = models.CharField(max_length=64, blank=True, default="")
    occurrences = models.PositiveIntegerField(default=1)
    last_seen_at = models.DateTimeField(default=timezone.now)

    # What screening found in the words that it has now; a curator who looked at it clears it.
    flags = models.JSONField(default=list, blank=True)
    is_cleared = models.BooleanField(default=False)
    # The classifier flagged it after a person had approved it: it stays in prompts until a curator decides.
    is_used_while_flagged = models.BooleanField(default=False)
    # Which version of the classifier's weights has read its words; 0 where they are unread.
    read_by_weights = models.PositiveIntegerField(default=0)
    merged_into = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.SET_NULL, related_name="merged_entries"
    )
    # Why it is in its state, by whom and since when, as far as a person decided it.
    reason = models.TextField(blank=True, default="")
    decided_by_label = models.CharField(max_length=200, blank=True, default="")
    decided_at = models.DateTimeField(null=True, blank=True)

    # How often it was given to somebody at work.
    recalled = models.PositiveIntegerField(default=0)
    last_recalled_at = models.DateTimeField(null=True, blank=True)
    # The words that it is found by, English by their stems, Chinese by pairs of characters (see search.py).
    search = SearchVectorField(null=True)
    # Whether these words were compared with the other entries'.
    is_compared = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ("-created_at", "-id")
        constraints = (
            models.UniqueConstraint(fields=("project_id", "source"), name="entry_source_once"),
            models.UniqueConstraint(fields=("project_id", "fingerprint"), name="entry_fingerprint_once"),
            models.CheckConstraint(
                name="entry_merged_into_another", condition=~Q(state="merged") | Q(merged_into__isnull=False)
            ),
        )
        indexes = (
            models.Index(fields=("project_id", "state", "-created_at", "-id"), name="entry_by_state"),
            models.Index(fields=("project_id", "-created_at", "-id"), name="entry_newest"),
            models.Index(
                fields=("project_id", "state", "-occurrences", "-recalled", "-id"), name="entry_by_occurrences"
            ),
            models.Index(fields=("project_id", "state", "last_recalled_at"), name="entry_by_last_recall"),
            models.Index(fields=("project_id", "owner", "state"), name="entry_by_owner"),
            models.Index(fields=("project_id", "text_key"), name="entry_by_text_key"),
            models.Index(
                fields=("project_id", "state"), name="entry_flagged", condition=~Q(flags=[]) & Q(is_cleared=False)
            ),
            models.Index(fields=("created_at", "id"), name="entry_to_compare", condition=Q(is_compared=False)),
            models.Index(fields=("read_by_weights", "updated_at"), name="entry_to_read"),
            GinIndex(fields=("tags",), name="entry_by_tag"),
            # Else each search reads through what was written lately and is not in the tree yet, up to 4 MB of it.
            GinIndex(fields=("search",), name="entry_by_words", fastupdate=False),
            models.Index(fields=("id",), name="entry_not_indexed", condition=Q(search__isnull=True)),
        )

    def __str__(self) -> str:
        return self.name

    @property
    def texts(self) -> tuple[str, ...]:
        """All that it says, its name first."""
        return self.name, self.description, self.content, *words_of(self.details)

    @property
    def is_flagged(self) -> bool:
        """Return True if screening found something in it that no curator has cleared."""
        return bool(self.flags) and not self.is_cleared

    @property
    def is_excluded(self) -> bool:
        """Return True if it is in no prompt until a curator has decided on its flags."""
        return self.is_flagged and not self.is_used_while_flagged

    def covers(self, agent: str) -> bool:
        """Return True if its scope covers `agent`, as `entry_filter.covering` asks the database."""
        is_seen = self.agent in self.agents and bool({"", nfc(agent)} & set(self.agents))
        return self.agent in {"", nfc(agent)} or is_seen

    @property
    def labels(self) -> tuple[str, ...]:
        """What it is sorted by."""
        return self.agent, self.category, *self.tags


class EntryVersion(models.Model):
    """An entry as one change left it: what was changed, who by and why. Rows are only ever added."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    entry = models.ForeignKey(Entry, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    change = models.CharField(max_length=20, choices=Change)
    state = models.CharField(max_length=10)
    # The columns that a version keeps, as versions.py names them.
    kept = models.JSONField()
    reason = models.TextField(blank=True, default="")
    by_label = models.CharField(max_length=200)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    # Ids by kind of thing that the change rests on, such as {"run": …}.
    evidence = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-number",)
        constraints = (models.UniqueConstraint(fields=("entry", "number"), name="entry_version_once"),)

    def __str__(self) -> str:
        return f"version {self.number}"


class Evidence(models.Model):
    """One occurrence of what an entry says: where it was learned, as ids by kind of thing, such as {"run": …}."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    entry = models.ForeignKey(Entry, on_delete=models.CASCADE, related_name="evidence")
    project_id = models.UUIDField()
    refs = models.JSONField()
    refs_key = models.CharField(max_length=64)
    # What was said there otherwise than the entry said it then: columns by their names, once for each wording.
    wordings = models.JSONField(default=list, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ("created_at", "id")
        constraints = (models.UniqueConstraint(fields=("entry", "refs_key"), name="evidence_once"),)
        indexes = (
            models.Index(fields=("entry", "-created_at", "-id"), name="evidence_newest"),
            GinIndex(fields=("refs",), name="evidence_by_ref", opclasses=("jsonb_path_ops",)),
        )

    def __str__(self) -> str:
        return f"evidence of {self.entry_id}"


# Two entries that say the same, or the opposite, for a person to settle.


class ConflictKind(models.TextChoices):
    DUPLICATE = "duplicate", _("Near-duplicates")
    CONTRADICTION = "contradiction", _("Contradiction")
    # One says more of what the other says, and both hold.
    REFINEMENT = "refinement", _("Refinement")


class ConflictState(models.TextChoices):
    OPEN = "open", _("Open")
    SETTLED = "settled", _("Resolved")
    # One of the two is no longer held: there is nothing left to settle.
    MOOT = "moot", _("Obsolete")


# The labels stand after the name of the member who settled.
class Settlement(models.TextChoices):
    MERGED = "merged", _("merged the entries")
    KEPT_BOTH = "kept_both", _("retained both entries")
    SUPERSEDED = "superseded", _("replaced one entry with the other")


class Conflict(models.Model):
    """`first` has the smaller id, so that two entries meet once only. `why` tells what they were found by."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project_id = models.UUIDField()
    first = models.ForeignKey(Entry, on_delete=models.CASCADE, related_name="conflicts_as_first")
    second = models.ForeignKey(Entry, on_delete=models.CASCADE, related_name="conflicts_as_second")
    kind = models.CharField(max_length=13, choices=ConflictKind)
    state = models.CharField(max_length=7, choices=ConflictState, default=ConflictState.OPEN)
    # From 0 to 1: shared words, and nearness of meaning where both had an embedding.
    text_likeness = models.FloatField()
    meaning_likeness = models.FloatField(null=True, blank=True)
    why = models.JSONField(default=dict, blank=True)
    settlement = models.CharField(max_length=10, blank=True, default="", choices=Settlement)
    settled_by_label = models.CharField(max_length=200, blank=True, default="")
    reason = models.TextField(blank=True, default="")
    settled_at = models.DateTimeField(null=True, blank=True)
    # A merge in a model's words, which only a person can apply; and the run that is asked for it.
    suggestion = models.JSONField(null=True, blank=True)
    suggestion_run = models.UUIDField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-created_at", "-id")
        constraints = (
            models.UniqueConstraint(fields=("first", "second"), name="conflict_once"),
            models.CheckConstraint(name="conflict_of_two", condition=Q(first__lt=F("second"))),
        )
        indexes = (models.Index(fields=("project_id", "state", "-created_at", "-id"), name="conflict_by_state"),)

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"

    @property
    def entries(self) -> tuple[Entry, Entry]:
        return self.first, self.second

    @property
    def is_open(self) -> bool:
        return self.state == ConflictState.OPEN

    @property
    def words(self) -> tuple[str, ...]:
        """Those that both entries share."""
        return tuple(map(str, self.why.get("words", [])))

    @property
    def gone(self) -> Entry | None:
        """The entry that no longer holds since the conflict was settled."""
        return next((entry for entry in self.entries if entry.pk == self.gone_id), None)

    @property
    def gone_id(self) -> UUID | None:
        """The entry that was merged or superseded."""
        is_settled = self.state == ConflictState.SETTLED
        return UUID(self.why["gone"]) if is_settled and self.why.get("gone") else None


# What entries mean, as vectors. Spaces are one a model: vectors of two models cannot be compared.


# pgvector makes no index of more dimensions of half a float.
MOST_INDEXED_DIMENSIONS = 4_000


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

    @property
    def has_index(self) -> bool:
        return self.dimensions <= MOST_INDEXED_DIMENSIONS

    @property
    def index_name(self) -> str:
        return f"embedding_hnsw_{self.id.hex}"


class Embedding(models.Model):
    """The vector of one entry's text; `text_hash` tells whether the entry still has that text.

    The column has no dimensions: an index for a space's is made when the space is (see meaning.py).
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


# Who was given which entry, or was not on purpose, and how the first attempt went.


class Exposure(models.Model):
    """One draw: whether `subject` (a run's id, or an outside agent's own name for its work) got the entry.

    It is withheld where `draw` is below `share`. `succeeded` is null until the first attempt has been judged.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project_id = models.UUIDField()
    entry = models.ForeignKey(Entry, on_delete=models.CASCADE, related_name="exposures")
    entry_version = models.PositiveIntegerField()
    subject = models.CharField(max_length=200)
    # A script's runs, and such as nothing can be learned from, are kept but not counted.
    is_counted = models.BooleanField(default=True)
    share = models.FloatField()
    draw = models.FloatField()
    is_withheld = models.BooleanField()
    rank = models.PositiveIntegerField()
    score = models.FloatField()
    succeeded = models.BooleanField(null=True, blank=True)
    settled_at = models.DateTimeField(null=True, blank=True)
    # Whether its entry's count of recalls has it already; what is withheld is never counted there.
    is_summed = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("project_id", "subject", "entry"), name="exposure_drawn_once"),)
        indexes = (
            models.Index(fields=("project_id",), name="exposure_unsummed", condition=Q(is_summed=False)),
            models.Index(fields=("entry", "-created_at", "-id"), name="exposure_newest"),
            models.Index(
                fields=("project_id", "entry", "settled_at", "id"),
                # The lift of all lessons is read from the index alone.
                include=("is_withheld", "succeeded", "share"),
                name="exposure_settled",
                condition=Q(is_counted=True, succeeded__isnull=False),
            ),
        )

    def __str__(self) -> str:
        return f"exposure of {self.subject}"


# Entries read from files that a person handed in, shown before they are added.


class ImportState(models.TextChoices):
    PREVIEWED = "previewed"
    APPLYING = "applying"
    APPLIED = "applied"


class ImportBatch(models.Model):
    """`items` are the entries as they were read, `problems` what could not be; `counts` what came of it."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project_id = models.UUIDField()
    state = models.CharField(max_length=9, choices=ImportState, default=ImportState.PREVIEWED)
    file_names = models.JSONField(default=list)
    items = models.JSONField(default=list)
    problems = models.JSONField(default=list)
    counts = models.JSONField(default=dict)
    by_label = models.CharField(max_length=200)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    applied_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-created_at", "-id")
        indexes = (models.Index(fields=("project_id", "-created_at", "-id"), name="import_newest"),)

    def __str__(self) -> str:
        return f"import {self.id}"

    @property
    def total(self) -> int:
        return len(self.items)

    @property
    def done(self) -> int:
        return int(self.counts.get("done", 0))
