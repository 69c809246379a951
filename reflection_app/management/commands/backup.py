"""All of the desk as one file, while it runs or while it does not."""

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from reflection_app.config.up.backup import ToolFailed, back_up
from reflection_app.config.up.engines import EmbeddedEngineError
from reflection_app.config.up.preconditions import Refused


class Command(BaseCommand):
    help = "Write the whole desk, all projects and accounts, into one file. The desk may be running."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="the file to write; it must not be there yet")

    def handle(self, *args: Any, file: Path, **options: Any) -> None:
        try:
            back_up(file)
        except (Refused, EmbeddedEngineError, ToolFailed) as problem:
            sys.exit(str(problem))
        except OSError as problem:
            sys.exit(f"{file} cannot be written: {problem.strerror}")
        self.stdout.write(f"The desk is in {file}, {file.stat().st_size:,} bytes.")
        self.stdout.write("Whoever has this file has everything: keep it as you keep passwords.")
