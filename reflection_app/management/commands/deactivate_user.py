"""Disable an account, for those who may run commands on the server."""

from argparse import ArgumentParser
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError

from reflection_app.core.audit import Actor
from reflection_app.core.models import ApiKey, Project, Role
from reflection_app.teams.projects import disable_account, enable_account


class Command(BaseCommand):
    help = (
        "Disable the account of USERNAME: no login, no key that they made works, and what they hold in the review "
        "queue is released. Asks whether to revoke their API keys too."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username")
        parser.add_argument("--keep-keys", action="store_true", help="do not revoke their keys; does not ask")
        parser.add_argument("--no-input", action="store_true", help="revoke their keys without asking")
        parser.add_argument("--undo", action="store_true", help="enable the account again")

    def handle(self, *args: Any, username: str, **options: Any) -> None:
        user = User.objects.filter(username=username).first()
        if user is None:
            raise CommandError(f"There is no user {username!r}.")
        if options["undo"]:
            enable_account(user, actor=Actor())
            self.stdout.write(f"The account of {username} is enabled. Assign reviews and queues again as needed.")
            return
        number = ApiKey.objects.usable().filter(created_by=user).count()
        revokes = not options["keep_keys"]
        if number and revokes and not options["no_input"]:
            revokes = input(f"Revoke their {number} API keys too? [Y/n] ").strip().lower() in {"", "y", "yes"}
        keys = disable_account(user, actor=Actor(), revoke_keys=revokes)
        self.stdout.write(f"The account of {username} is disabled.")
        for key in keys.revoked:
            self.stdout.write(f"revoked: {key.name} ({key.hint}…)")
        for key in keys.remaining:
            self.stdout.write(f"does not work while the account is disabled: {key.name} ({key.hint}…)")
        led = Project.objects.filter(memberships__user=user, memberships__role=Role.ADMIN, deleted_at=None)
        for project in led:
            if not project.memberships.filter(role=Role.ADMIN, user__is_active=True).exists():
                self.stderr.write(f"{project.slug} has no active admin now.")
