"""What things are found by, kept beside them by the database itself."""

from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models

from reflection_app.core.models import Project


class Indexed(models.TextChoices):
    """The tables whose rows are found by words, each by one letter, with which all of its lexemes begin."""

    TASK = "t"
    TICKET = "k"
    REPORT = "r"
    SESSION = "s"
    FAILURE = "f"


class SearchRow(models.Model):
    """What the row of the same id is found by.

    Triggers write, change and delete it with that row (the migration that makes this table), whoever wrote that: an
    agent over REST, an import, a person with psql. A column beside the texts would do as well, but lists read those
    tables and would read past it, and a search looks through the newest rows, of which these are small. Entries of the
    notebook have their own (notebook_app/search.py), which weighs words for recall.
    """

    id = models.UUIDField(primary_key=True, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="+", db_index=False)
    kind = models.CharField(max_length=1, choices=Indexed)
    words = SearchVectorField()
    created_at = models.DateTimeField()

    class Meta:
        indexes = (
            models.Index(fields=("project", "kind", "-created_at", "-id"), name="search_newest"),
            # Else each search reads through what was written lately and is not in the tree yet, up to 4 MB of it.
            GinIndex(fields=("words",), name="search_words", fastupdate=False),
        )

    def __str__(self) -> str:
        return f"words of {self.id}"
