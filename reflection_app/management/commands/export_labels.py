import json
import os
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db.models import Count, Q

from reflection_app.core.models import Project
from reflection_app.management.commands.create_api_key import get_project
from reflection_app.metrics.label_export import FILES, training_rows
from reflection_app.metrics.models import Label


class Command(BaseCommand):
    help = (
        "Writes what people said of the desk's claims into FOLDER as JSON lines, one file a kind, in the shapes that "
        "training reads. Files of these names are written over. Labels of which the act does not tell what to learn "
        "are left out."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", metavar="FOLDER", type=Path)
        parser.add_argument(
            "--project", metavar="SLUG", action="append", help="of this project only, may be given again (default: all)"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        folder: Path = options["folder"]
        slugs: list[str] | None = options["project"]
        projects = [get_project(slug) for slug in slugs] if slugs else list(Project.objects.filter(deleted_at=None))
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for name in FILES:
                left_out = written = 0
                # They hold what was said in projects: for whoever writes them alone.
                flags = os.O_CREAT | os.O_WRONLY | os.O_TRUNC
                with os.fdopen(os.open(folder / f"{name}.jsonl", flags, 0o600), "w", encoding="utf-8") as file:
                    for row in training_rows(name, projects):
                        if row is None:
                            left_out += 1
                        else:
                            written += 1
                            file.write(f"{json.dumps(row, ensure_ascii=False)}\n")
                self.stdout.write(f"{name}.jsonl: {written:,} written, {left_out:,} left out.")
        except OSError as error:
            raise CommandError(f"{folder} cannot be written: {error.strerror}") from None
        labels = Label.objects.filter(project__in=projects).order_by("kind").values("kind")
        for row in labels.annotate(judged=Count("pk"), corrected=Count("pk", filter=Q(is_corrected=True))):
            self.stdout.write(f"{row['kind']}: {row['judged']:,} judged, {row['corrected']:,} corrected.")
