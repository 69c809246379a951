"""Keys: `Authorization: Bearer rd_…`. A key belongs to one project, and all that its caller sees is of that project."""

from datetime import timedelta

from django.db.models import Q
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from reflection_app.models import ApiKey
from reflection_app.models.api_key import digest_of

# Writing the time of every request would make one row the busiest of the database.
LAST_USED_PRECISION = timedelta(minutes=1)


class ApiKeyAuthentication(BaseAuthentication):
    """The key behind a request, as `request.auth`."""

    def authenticate(self, request: Request) -> tuple[None, ApiKey] | None:
        """The key, or None where no bearer key was sent. Raises AuthenticationFailed for one that does not work."""
        scheme, _, secret = request.headers.get("Authorization", "").strip().partition(" ")
        if scheme.lower() != "bearer":
            return None
        keys = ApiKey.objects.usable().select_related("project").filter(project__deleted_at__isnull=True)
        key = keys.filter(digest=digest_of(secret.strip())).first()
        if key is None:
            raise AuthenticationFailed("This key is unknown, revoked or expired.")
        note_use(key)
        return None, key

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="api"'


def note_use(key: ApiKey) -> None:
    """Keeps when the key was last used, to the minute."""
    stale = timezone.now() - LAST_USED_PRECISION
    if key.last_used_at is None or key.last_used_at < stale:
        unnoted = Q(last_used_at__isnull=True) | Q(last_used_at__lt=stale)
        ApiKey.objects.filter(unnoted, pk=key.pk).update(last_used_at=timezone.now())
