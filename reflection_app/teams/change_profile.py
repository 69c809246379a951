"""Changing what a person sets for themselves. It belongs to no project, and so to no project's audit trail."""

from django.conf import settings
from django.contrib.auth.models import User
from django.utils.translation import gettext as _

from reflection_app.core.errors import InvalidInput
from reflection_app.core.models import Profile, Theme


def change_profile(user: User, *, language: str, theme: str, wants_mail: bool) -> Profile:
    """The person's profile as it is now. Empty, `language` is the browser's, `theme` the system's. Raises
    InvalidInput.
    """
    errors = []
    if language and language not in dict(settings.LANGUAGES):
        errors.append({"field": "language", "message": _("The desk does not speak this language.")})
    if theme and theme not in Theme.values:
        errors.append({"field": "theme", "message": _("There is no such theme.")})
    if errors:
        raise InvalidInput(errors[0]["message"], errors=errors)
    chosen = {"language": language, "theme": theme, "wants_mail": wants_mail}
    return Profile.objects.update_or_create(user=user, defaults=chosen)[0]
