"""manage.py replay_traces FILE [--project SLUG]: how often the attempt that our referee keeps is right."""

from argparse import ArgumentParser
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from os import cpu_count
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from pydantic import ValidationError

from reflection_app.adapters.sandbox import SandboxFailed, SandboxUnavailable
from reflection_app.core.audit import Actor
from reflection_app.management.commands.create_api_key import get_project
from reflection_app.metrics.referees import PickKind, keep_measurement
from reflection_app.metrics.trace_replay import Trace, quality_of, replay


class Command(BaseCommand):
    help = (
        "Replays recorded runs through the loop and its referee, and prints one JSON object of counts; beside it, on "
        "standard error, what each kind of pick is worth."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="traces, one JSON object a line")
        parser.add_argument("--parallel", type=int, default=cpu_count() or 1, help="sandboxes at a time")
        parser.add_argument("--project", metavar="SLUG", help="keep the figures for this project's page of metrics")

    def handle(self, *_args: Any, file: Path, parallel: int, project: str | None, **_options: Any) -> None:
        # Before minutes of work that a mistyped name would lose.
        keeper = get_project(project) if project else None
        traces = read_traces(file)
        try:
            with ThreadPoolExecutor(max(1, parallel)) as pool:
                runs = list(pool.map(replay, traces))
        except (SandboxUnavailable, SandboxFailed) as error:
            raise CommandError(f"The sandbox is needed to replay: {error}") from None
        quality = quality_of(runs)
        self.stdout.write(quality.model_dump_json())
        self.stderr.write(table_of(quality.kinds))
        if keeper is not None:
            keep_measurement(keeper, quality, name=file.name, actor=Actor())
            self.stderr.write(f"Kept for {keeper.slug}; its metrics show it under Referees.")


def table_of(kinds: Sequence[PickKind]) -> str:
    """The kinds as lines for a terminal: as stated, as other problems say, as it is, and what switching would do."""
    lines = ["stated  held out   right of runs   share by problem (95 %)   by tests: gained/lost  pays  because"]
    for kind in kinds:
        share, spread = f"{kind.right} of {kind.runs}", f"{kind.low:.2f} to {kind.high:.2f} ({kind.problems})"
        pays = "yes" if kind.pays else "no"
        lines.append(
            f"{kind.stated:6.2f}  {kind.held_out:8.3f}   {share:>13}   {spread:>23}   "
            f"{f'{kind.gained} / {kind.lost}':>21}  {pays:>4}  {kind.because}"
        )
    return "\n".join(lines)


def read_traces(file: Path) -> list[Trace]:
    """The traces in `file`. Raises CommandError, which names the line that is wrong."""
    try:
        lines = file.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{file} cannot be read: {error}") from None
    traces = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            traces.append(Trace.model_validate_json(line))
        except ValidationError as error:
            raise CommandError(f"{file}, line {number}: {error.errors(include_input=False)[0]['msg']}") from None
    return traces
