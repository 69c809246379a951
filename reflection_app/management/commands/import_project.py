"""A new project from a file that export_project wrote."""

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand

from reflection_app.core.audit import Actor
from reflection_app.core.errors import ActionError
from reflection_app.teams.archive.importing import Wishes, import_project
from reflection_app.teams.archive.reading import MOST_BYTES


class Command(BaseCommand):
    help = "Make a new project of a file that export_project wrote. A file that is refused leaves nothing behind."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--slug", required=True, help="the new project's short name")
        parser.add_argument("--name", default="", help="its name; without, the one it had")
        parser.add_argument("--admin", default="", help="the user who becomes its admin")
        parser.add_argument(
            "--same-people",
            action="store_true",
            help="users of this desk are those of the same name in the file: they become members again",
        )
        parser.add_argument(
            "--go-on",
            action="store_true",
            help="runs that were under way go on here; without, they are cancelled, as they may go on elsewhere",
        )
        parser.add_argument("--most-bytes", type=int, default=MOST_BYTES, help="refuse what unpacks to more than this")

    def handle(self, *args: Any, file: Path, **options: Any) -> None:
        names = ("slug", "name", "admin", "go_on", "most_bytes")
        people = dict(User.objects.values_list("username", "pk")) if options["same_people"] else {}
        wishes = Wishes(**{name: options[name] for name in names}, people=people)
        try:
            imported = import_project(file, wishes, actor=Actor())
        except ActionError as problem:
            sys.exit(f"Nothing was imported. {problem}")
        project = imported.project
        self.stdout.write(f"{project.name} is there as {project.slug}: {sum(imported.rows.values()):,} rows")
        if imported.cancelled_runs:
            self.stdout.write(f"{imported.cancelled_runs} runs that were under way are cancelled (see --go-on)")
        if imported.secrets_to_enter:
            self.stdout.write(f"Enter these secrets again: {', '.join(imported.secrets_to_enter)}")
        if not (wishes.admin or wishes.people):
            self.stdout.write("It has no members yet: import with --admin USERNAME or --same-people to see it.")
