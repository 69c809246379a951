"""What nobody may do by a key: have agents told words of their own. A key proposes, and somebody else looks at them.

A pipeline that could would write into its own next prompt, and whoever writes into the pipeline's work with it. A
person and the keys that they made are one here, as everywhere (own_work.py). What a curator types at the desk is not
meant: that is a person's word, who may put what agents are told into other words as well.
"""

from uuid import UUID

from django.db.models import Q
from django.utils.translation import gettext as _

from notebook_app import public
from notebook_app.public import EntryState, KeptEntry
from reflection_app.core.audit import Actor, AuditEntry
from reflection_app.core.models import ApiKey, Membership
from reflection_app.core.own_work import allows_own_work
from reflection_app.notebook.notebook_refusals import wrong
from reflection_app.runs.models import Run

WORDS = ("name", "description", "content", "details")
PUT_INTO_WORDS = ("entry.edited", "entry.restored", "entry.absorbed")
IMPORTED = ("import.previewed", "import.begun")


def refuse_own_words(project_id: UUID, entry_id: UUID, *, actor: Actor) -> None:
    """Raises InvalidInput where a key of `actor` proposed or imported the entry, or put it into other words.

    Of a key, also where whoever made it did, and where the entry comes of runs that they handed in.
    """
    if actor.hand is None or not _is_own(project_id, entry_id, actor=actor):
        return
    if allows_own_work(project_id, actor=actor):
        return
    if actor.api_key is None:
        raise wrong("", _("A key of yours proposed the entry or put it into words. Somebody else has to look at it."))
    raise wrong("", _("This key proposed the entry or put it into words. Somebody else has to look at it."))


def _is_own(project_id: UUID, entry_id: UUID, *, actor: Actor) -> bool:
    # Not by the key's label: keys may have the same name.
    by_them = Q(api_key_id__in=_keys_of(project_id, actor=actor))
    if actor.api_key is not None and actor.api_key.created_by_id is not None:
        by_them |= Q(user_id=actor.api_key.created_by_id)
    trail = AuditEntry.objects.filter(by_them, project=project_id)
    reworded = Q(action__in=PUT_INTO_WORDS) & (Q(after__has_key="name") | Q(after__has_key="texts"))
    of_entry = trail.filter(Q(action="entry.proposed") | reworded, target="entry", target_id=entry_id)
    of_imports = trail.filter(target="import", action__in=IMPORTED, target_id__in=public.imports_of(entry_id))
    if of_entry.exists() or of_imports.exists():
        return True
    if actor.api_key is None:
        return False
    runs = Run.objects.filter(pk__in=public.runs_behind(entry_id), handed_in_by__contains=[actor.hand])
    return runs.exists()


def _keys_of(project_id: UUID, *, actor: Actor) -> list[UUID]:
    """The keys that are one with `actor`, revoked ones as well; of a person also the one that made them a member."""
    if actor.api_key is not None and actor.api_key.created_by_id is None:
        return [actor.api_key.pk]
    keys = ApiKey.objects.filter(project=project_id, created_by=actor.person_id).values_list("pk", flat=True)
    invited = Membership.objects.filter(project=project_id, user=actor.user, invited_by_key__isnull=False)
    return [*keys, *(invited.values_list("invited_by_key", flat=True) if actor.user else ())]


def refuse_rewording(before: KeptEntry, after: KeptEntry, *, actor: Actor) -> None:
    """Raises InvalidInput where `actor` is a key and the entry, which agents are told, got other words by it."""
    if actor.api_key is None or after.state is not EntryState.APPROVED:
        return
    field = next((name for name in WORDS if getattr(before, name) != getattr(after, name)), None)
    if field is not None:
        why = _("Agents are told this entry. A key cannot put it into other words: propose them, or retire it.")
        raise wrong(field, why)
