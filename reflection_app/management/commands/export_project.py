"""A whole project as one file."""

import os
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from reflection_app.core.audit import Actor
from reflection_app.core.models import Project
from reflection_app.teams.archive.writing import write_project


class Command(BaseCommand):
    help = "Write a whole project into a zip of JSON lines, for import_project of this desk or another."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", help="the project's short name")
        parser.add_argument("file", type=Path, help="the file to write; it must not be there yet")

    def handle(self, *args: Any, slug: str, file: Path, **options: Any) -> None:
        project = Project.objects.filter(slug=slug, deleted_at__isnull=True).first()
        if project is None:
            sys.exit(f"There is no project {slug!r}.")
        unfinished = file.with_name(f".{file.name}.unfinished")
        try:
            # It holds all that was ever said in the project: for whoever writes it alone.
            with os.fdopen(os.open(unfinished, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "wb") as written:
                rows = write_project(project, written, actor=Actor(), hides_opinions=False)
            file.hardlink_to(unfinished)
        except FileExistsError:
            sys.exit(f"{file} is there already; nothing was written over it.")
        except OSError as problem:
            sys.exit(f"{file} cannot be written: {problem.strerror}")
        finally:
            unfinished.unlink(missing_ok=True)
        self.stdout.write(f"{sum(rows.values()):,} rows of {project.name} are in {file}")
        self.stdout.write("Keys, passwords and values of secrets are not. It is as private as the project itself.")
