"""A way in for somebody who lost the password, for those who may run commands on the server."""

from argparse import ArgumentParser
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError

from reflection_app.config.up.desk import address_in_use
from reflection_app.teams.pages.login import LIVES_FOR_MIN, one_time_login_path


class Command(BaseCommand):
    help = "Print a login link for USERNAME that works once."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username")
        parser.add_argument("--address", default=address_in_use(), help="where the site answers")

    def handle(self, *args: Any, username: str, address: str, **options: Any) -> None:
        user = User.objects.filter(username=username, is_active=True).first()
        if user is None:
            known = ", ".join(User.objects.filter(is_active=True).values_list("username", flat=True)[:20])
            raise CommandError(f"There is no active user {username!r}. There are: {known or 'none'}.")
        self.stdout.write(f"{address.rstrip('/')}{one_time_login_path(user)}")
        self.stderr.write(f"It works once, within {LIVES_FOR_MIN} minutes.")
