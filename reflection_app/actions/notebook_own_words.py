"""What no key may do: have agents told words of its own. It proposes them, and somebody else looks at them.

A pipeline that could would write into its own next prompt, and whoever writes into the pipeline's work with it.
"""

from uuid import UUID

from django.db.models import Q
from django.utils.translation import gettext as _

from notebook_app import public
from notebook_app.public import EntryState, KeptEntry
from reflection_app.actions.notebook_refusals import wrong
from reflection_app.models import Actor, AuditEntry

WORDS = ("name", "description", "content", "details")
PUT_INTO_WORDS = ("entry.edited", "entry.restored", "entry.absorbed")
IMPORTED = ("import.previewed", "import.begun")


def refuse_own_words(entry_id: UUID, *, actor: Actor) -> None:
    """Raises InvalidInput where `actor` is a key that proposed or imported the entry, or put it into other words."""
    if actor.api_key is None:
        return
    # Not by the key's label: keys may have the same name.
    trail = AuditEntry.objects.filter(project=actor.api_key.project_id, api_key_id=actor.api_key.pk)
    reworded = Q(action__in=PUT_INTO_WORDS) & (Q(after__has_key="name") | Q(after__has_key="texts"))
    of_entry = trail.filter(Q(action="entry.proposed") | reworded, target="entry", target_id=entry_id)
    of_imports = trail.filter(target="import", action__in=IMPORTED, target_id__in=public.imports_of(entry_id))
    if of_entry.exists() or of_imports.exists():
        raise wrong("", _("This key proposed the entry or put it into words. Somebody else has to look at it."))


def refuse_rewording(before: KeptEntry, after: KeptEntry, *, actor: Actor) -> None:
    """Raises InvalidInput where `actor` is a key and the entry, which agents are told, got other words by it."""
    if actor.api_key is None or after.state is not EntryState.APPROVED:
        return
    field = next((name for name in WORDS if getattr(before, name) != getattr(after, name)), None)
    if field is not None:
        why = _("Agents are told this entry. A key cannot put it into other words: propose them, or retire it.")
        raise wrong(field, why)
