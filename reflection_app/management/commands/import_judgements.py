"""manage.py import_judgements FILE --project SLUG [--apply]: what critics and people said elsewhere."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from reflection_app.core.audit import Actor
from reflection_app.core.errors import InvalidInput
from reflection_app.management.commands.create_api_key import get_project
from reflection_app.metrics.judgements import apply_judgements, preview_judgements, read_lines

MOST_TOLD = 20


class Command(BaseCommand):
    help = "Shows what a file of judgements, one JSON object a line, would do to a project; --apply does it."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="rows {external_id, critic: {model, verdict, …}, people, content}")
        parser.add_argument("--project", required=True, metavar="SLUG")
        parser.add_argument(
            "--apply", action="store_true", help="imports the rows; those that are refused are left out"
        )

    def handle(self, *_args: Any, file: Path, project: str, apply: bool, **_options: Any) -> None:
        found = get_project(project)
        try:
            content = file.read_bytes()
        except OSError as error:
            raise CommandError(f"{file} cannot be read: {error}") from None
        try:
            rows = read_lines(content)
        except InvalidInput as refusal:
            raise CommandError(f"{file}: {refusal}") from None
        with transaction.atomic():
            shown = preview_judgements(found, rows, name=file.name, actor=Actor())
            self.stdout.write(", ".join(f"{name}: {count}" for name, count in shown.counts.items()))
            if shown.split:
                self.stdout.write(f"Without a majority of people, and so in no figure: {shown.split} items.")
            for one in shown.refused[:MOST_TOLD]:
                self.stderr.write(f"line {one.line}: {one.reason}")
            if len(shown.refused) > MOST_TOLD:
                self.stderr.write(f"and {len(shown.refused) - MOST_TOLD} more lines")
            if apply:
                apply_judgements(found, shown.id, actor=Actor())
            else:
                transaction.set_rollback(True)
        done = f"Imported into {found.slug}." if apply else "Nothing was imported. Run it again with --apply to import."
        self.stdout.write(done)
