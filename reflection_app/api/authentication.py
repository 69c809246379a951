"""Keys: `Authorization: Bearer rd_…`. A key belongs to one project, and all that its caller sees is of that project."""

import logging
from datetime import timedelta

from django.db import DatabaseError
from django.db.models import Q, QuerySet
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from notebook_app.public import compiled
from reflection_app.core.models import ApiKey, digest_of

log = logging.getLogger(__name__)

NOT_USABLE = "This key is unknown, revoked or expired."
# Writing the time of every request would make one row the busiest of the database.
LAST_USED_PRECISION = timedelta(minutes=1)


class ApiKeyAuthentication(BaseAuthentication):
    """The key behind a request, as `request.auth`."""

    def authenticate(self, request: Request) -> tuple[None, ApiKey] | None:
        """The key, or None where no bearer key was sent. Raises AuthenticationFailed for one that does not work."""
        scheme, _, secret = request.headers.get("Authorization", "").strip().partition(" ")
        if scheme.lower() != "bearer":
            return None
        key = find_key(digest_of(secret.strip()))
        if key is None or not key.is_current or key.project.deleted_at is not None:
            raise AuthenticationFailed(NOT_USABLE)
        note_use(key)
        return None, key

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="api"'


def check_it_works(key: ApiKey) -> None:
    """Raise AuthenticationFailed if the key was revoked, lost a scope or expired since it was let in."""
    now = ApiKey.objects.usable().filter(pk=key.pk, project__deleted_at__isnull=True).first()
    if now is None or now.granted_scopes != key.granted_scopes:
        raise AuthenticationFailed(NOT_USABLE)


@compiled
def _key_by_digest(digest: str) -> QuerySet[ApiKey]:
    return ApiKey.objects.of_active_makers().select_related("project").filter(digest=digest).order_by()


def find_key(digest: str) -> ApiKey | None:
    """Return the key with its project, or None. A key of a disabled account is none."""
    return _key_by_digest.first(digest)


def note_use(key: ApiKey) -> None:
    """Keeps when the key was last used, to the minute, as far as the database takes it: who only reads is let in."""
    stale = timezone.now() - LAST_USED_PRECISION
    if key.last_used_at is None or key.last_used_at < stale:
        unnoted = Q(last_used_at__isnull=True) | Q(last_used_at__lt=stale)
        try:
            ApiKey.objects.filter(unnoted, pk=key.pk).update(last_used_at=timezone.now())
        except DatabaseError as error:
            log.warning("when a key was last used could not be kept: %s", error)
