"""What a person sets for themselves, in all projects."""

from django.conf import settings
from django.db import models


class Theme(models.TextChoices):
    LIGHT = "light", "Light"
    DARK = "dark", "Dark"


class Profile(models.Model):
    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="profile")
    # Empty: as the browser says.
    language = models.CharField(max_length=10, blank=True, default="")
    # Empty: as the system says.
    theme = models.CharField(max_length=5, blank=True, default="", choices=Theme)
    wants_mail = models.BooleanField(default=True)
    # The password was made up by a command, and printed.
    must_change_password = models.BooleanField(default=False)

    def __str__(self) -> str:
        return f"profile of {self.user}"
