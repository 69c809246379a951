"""How many proposals wait in the notebook."""

from notebook_app.public import WAITING, EntryFilter, Listing, count_entries
from reflection_app.core.models import Project


def waiting_entries(project: Project) -> int:
    """How many proposals wait for a curator, none counted past the first that is too many to tell."""
    return count_entries(project.pk, Listing(among=EntryFilter(states=WAITING)))
