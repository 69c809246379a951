"""Changing what a person sets for themselves. It belongs to no project, and so to no project's audit trail."""

from django.conf import settings
from django.contrib.auth.models import User
from django.utils.translation import gettext as _

from reflection_app.actions.errors import InvalidInput
from reflection_app.models import Profile


def change_profile(user: User, *, language: str, wants_mail: bool) -> Profile:
    """The person's profile as it is now. An empty `language` is the browser's. Raises InvalidInput."""
    if language and language not in dict(settings.LANGUAGES):
        message = _("The desk does not speak this language.")
        raise InvalidInput(message, errors=[{"field": "language", "message": message}])
    chosen = {"language": language, "wants_mail": wants_mail}
    return Profile.objects.update_or_create(user=user, defaults=chosen)[0]
