from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from reflection_app.core.audit import Actor
from reflection_app.core.errors import InvalidInput
from reflection_app.core.models import Project, Scope
from reflection_app.teams.projects import USUAL_SCOPES, create_api_key


class Command(BaseCommand):
    help = "Makes a key for the REST interface and prints it, alone, on standard output. It cannot be shown again."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="what the key is for")
        parser.add_argument("--project", required=True, metavar="SLUG")
        parser.add_argument(
            "--scopes",
            default=",".join(USUAL_SCOPES),
            help=f"comma-separated, of: {', '.join(Scope.values)} (default: %(default)s)",
        )
        parser.add_argument(
            "--expires-days", type=int, metavar="N", help="days until it stops working (default: never)"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        days: int | None = options["expires_days"]
        if days is not None and not 1 <= days <= 36_500:
            raise CommandError("--expires-days must be from 1 to 36500.")
        project = get_project(options["project"])
        try:
            key, secret = create_api_key(
                project,
                name=options["name"],
                scopes=[scope.strip() for scope in options["scopes"].split(",") if scope.strip()],
                actor=Actor(),
                expires_at=timezone.now() + timedelta(days=days) if days else None,
            )
        except InvalidInput as refusal:
            wanted = "; ".join(f"{error['field']}: {error['message']}" for error in refusal.errors)
            raise CommandError(f"{refusal} ({wanted})") from None
        self.stderr.write(f"Key {key.name!r} of {project.slug}, for {', '.join(key.scopes)}. It is not shown again.")
        self.stdout.write(secret)


def get_project(slug: str) -> Project:
    """The project. Raises CommandError, which names those that exist."""
    project = Project.objects.filter(slug=slug).first()
    if project is None:
        slugs = ", ".join(Project.objects.order_by("slug").values_list("slug", flat=True)) or "none yet"
        raise CommandError(f"There is no project {slug!r}. Projects: {slugs}.")
    return project
