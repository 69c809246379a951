"""What a new installation needs: an admin user, a project to look at, and a way in. Does nothing the second time."""

import secrets
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management.base import BaseCommand
from django.db import transaction

from reflection_app.core.audit import Actor
from reflection_app.core.models import Membership, OwnWork, Profile, Project, Role
from reflection_app.loops.task_spec import Limits
from reflection_app.teams.demo.loading import NAME, SLUG, demo_there, load_demo, talk_to
from reflection_app.teams.pages.login import LIVES_FOR_MIN, one_time_login_path
from reflection_app.teams.tools import add_builtin_tools

ADMIN = "admin"


class Command(BaseCommand):
    help = "Make the admin user and the demo project, and print the login. Does nothing where there is a user already."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--address", default="", help="where the site answers, put in front of the login link")
        parser.add_argument(
            "--show-password",
            action="store_true",
            help="make a password and print it, also where this is no terminal but a file or a log",
        )
        parser.add_argument("--without-demo", action="store_true", help="leave the first project empty")

    def handle(self, *args: Any, address: str, show_password: bool, without_demo: bool = False, **options: Any) -> None:
        if User.objects.filter(is_superuser=True).exists():
            self.stdout.write(
                "Log in as before. A way in without a password: make login-link, or manage.py login_link USERNAME"
            )
            return
        with_demo = not (settings.PRODUCTION or without_demo)
        project = make_first_project(with_demo=with_demo)
        # Last of all: who stops a first start half-way has not lost a password that nobody saw.
        password = secrets.token_urlsafe(12) if show_password or self.stdout.isatty() else None
        admin = make_admin(project, password=password)
        if with_demo:
            talk_to(project, admin)
        self.stdout.write(f"User:      {admin.get_username()}")
        self.stdout.write(f"Password:  {f'{password}   (shown this once)' if password else 'none yet'}")
        self.stdout.write(f"One-time login link: {address.rstrip('/')}{one_time_login_path(admin)}")
        self.stdout.write(
            f"It works for {LIVES_FOR_MIN} minutes; another: make login-link (manage.py login_link {ADMIN})"
        )
        self.stdout.write("Once logged in, you choose a password of your own.")


@transaction.atomic
def make_first_project(*, with_demo: bool) -> Project:
    """Return the first project: the demo, or an empty one. One of an interrupted first start is used again."""
    name = "First project" if settings.PRODUCTION else NAME
    # Whoever looks round hands in a task and then wants to decide about it, and there is nobody else yet.
    own_work = OwnWork.NOBODY if settings.PRODUCTION else OwnWork.PEOPLE
    if with_demo:
        project = demo_there() or load_demo(actor=Actor())
    else:
        project = Project.objects.get_or_create(slug=SLUG, defaults={"name": name, "own_work": own_work})[0]
    # The small local model takes its time on a busy machine; a newcomer should see it finish.
    limits = Limits(time_budget_s=120) if settings.LOCAL_MODEL_URL else Limits()
    project.limits = limits.model_dump(mode="json")
    project.save(update_fields=["limits"])
    add_builtin_tools(project, actor=Actor())
    return project


@transaction.atomic
def make_admin(project: Project, *, password: str | None) -> User:
    """An admin who may do everything in `project`, once they have chosen a password of their own."""
    admin = User.objects.create_superuser(ADMIN, password=password)
    Profile.objects.create(user=admin, must_change_password=True)
    Membership.objects.create(project=project, user=admin, role=Role.ADMIN)
    return admin
