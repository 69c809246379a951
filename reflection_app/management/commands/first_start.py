"""What a new installation needs: an admin user, a project to look at, and a way in. Does nothing the second time."""

import secrets
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management.base import BaseCommand
from django.db import transaction

from reflection_app.actions.demo_stories import tell_demo_stories
from reflection_app.models import Membership, Project, Role
from reflection_app.web.login_links import one_time_login_path

ADMIN = "admin"
PROJECT = "demo"


class Command(BaseCommand):
    help = "Make the admin user and the demo project, and print the login. Does nothing where there is a user already."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--address", default="", help="where the site answers, put in front of the login link")

    def handle(self, *args: Any, address: str, **options: Any) -> None:
        if User.objects.filter(is_superuser=True).exists():
            self.stdout.write("Log in as before. A way in for a lost password: manage.py login_link USERNAME")
            return
        password = secrets.token_urlsafe(12)
        project = make_first_project(password)
        if not settings.PRODUCTION:
            tell_demo_stories(project)
        admin = User.objects.get(username=ADMIN)
        self.stdout.write(f"User:      {ADMIN}")
        self.stdout.write(f"Password:  {password}   (shown this once)")
        self.stdout.write(f"One-time login link: {address.rstrip('/')}{one_time_login_path(admin)}")


@transaction.atomic
def make_first_project(password: str) -> Project:
    """The first project, with an admin who may do everything in it."""
    admin = User.objects.create_superuser(ADMIN, password=password)
    name = "Demo" if not settings.PRODUCTION else "First project"
    project, _ = Project.objects.get_or_create(slug=PROJECT, defaults={"name": name})
    Membership.objects.create(project=project, user=admin, role=Role.ADMIN)
    return project
