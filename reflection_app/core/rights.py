"""Rights that end: signals by which each feature ends what the right gave, and who has lost one."""

from typing import Any
from uuid import UUID

from django.db.models import Exists, F, OuterRef, QuerySet
from django.dispatch import Signal

from reflection_app.core.models import Membership
from reflection_app.core.permissions import Permission, roles_that_may

# The person may no longer review in the project. Arguments: project_id, user_id, actor.
# Receivers work in the sender's transaction.
review_right_ended = Signal()

# The key was revoked just now. Arguments: key, actor. As above.
key_revoked = Signal()


def without_review_right(rows: QuerySet[Any], *, project: str, person: str) -> set[tuple[UUID, int]]:
    """Return the project and person of each row whose person may not review there, by the names of the two columns."""
    may = roles_that_may(Permission.REVIEW)
    still_may = Membership.objects.filter(
        project=OuterRef(project), user=OuterRef(person), role__in=may, user__is_active=True
    )
    lost = rows.filter(~Exists(still_may)).order_by()
    return set(lost.values_list(F(project), F(person)).distinct())
