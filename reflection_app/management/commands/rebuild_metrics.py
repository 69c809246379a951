from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from reflection_app.core.models import Project
from reflection_app.management.commands.create_api_key import get_project
from reflection_app.metrics.figuring import rebuild


class Command(BaseCommand):
    help = (
        "Works the metrics out anew from what is recorded of every run. It is needed only where rows were changed by "
        "hand. What deleted runs counted for is kept."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--project", metavar="SLUG", help="of this project only (default: of all)")

    def handle(self, *args: Any, **options: Any) -> None:
        slug: str | None = options["project"]
        for project in [get_project(slug)] if slug else Project.objects.order_by("slug"):
            self.stdout.write(f"{project.slug}: {rebuild(project):,} finished runs.")
