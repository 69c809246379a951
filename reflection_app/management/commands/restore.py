"""The desk as it was when a backup was made."""

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from reflection_app.config.up.backup import ToolFailed, Unusable, restore
from reflection_app.config.up.engines import EmbeddedEngineError
from reflection_app.config.up.preconditions import Refused


class Command(BaseCommand):
    help = "Put a backup in the place of what the desk has. The desk must not be running."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="what `backup` wrote")
        parser.add_argument(
            "--another-key",
            action="store_true",
            help="although its SECRET_KEY was another one: sealed secrets are lost",
        )

    def handle(self, *args: Any, file: Path, another_key: bool, **options: Any) -> None:
        try:
            for line in restore(file, with_another_key=another_key):
                self.stdout.write(line)
        except (Refused, Unusable, EmbeddedEngineError, ToolFailed) as problem:
            sys.exit(f"Nothing was restored. {problem}")
