"""How well the desk judges rows that people judged."""

import json
import sys
from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from reflection_app.adapters.llm.question_vectors import serving
from reflection_app.config.up.engines import EmbeddedEngineError
from reflection_app.config.up.throwaway import throwaway_database
from reflection_app.metrics.judged import kinds, recall
from reflection_app.metrics.judged.figures import Measure

# Each by the file whose rows it reads.
KINDS: dict[str, Callable[[Path], Measure]] = {
    "same_mistake": kinds.same_mistake,
    "does_not_know": kinds.does_not_know,
    "entry_pairs": kinds.entry_pairs,
    "recall_queries": recall.measure,
    "tool_errors": kinds.tool_errors,
    "lesson_screening": kinds.lesson_screening,
    "critic_replies": kinds.critic_replies,
}


class Command(BaseCommand):
    help = (
        "Measures what the desk judges by meaning on a folder of rows that people judged (same_mistake.jsonl and so "
        "on; a file that is not there is left out). It asks no language model, and touches no desk: where a database "
        "is needed, an empty one is started for it."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path, help="the folder with the files of rows")
        parser.add_argument("--json", action="store_true", help="print one JSON object in place of lines")
        parser.add_argument("--wrong", type=Path, metavar="FILE", help="write the rows that were judged wrong, as JSON")
        parser.add_argument("--only", nargs="+", choices=sorted(KINDS), metavar="KIND", help=", ".join(sorted(KINDS)))

    def handle(self, *args: Any, folder: Path, only: list[str] | None, wrong: Path | None, **options: Any) -> None:
        names = [name for name in only or KINDS if (folder / f"{name}.jsonl").is_file()]
        if not names:
            sys.exit(f"In {folder} there is none of {', '.join(f'{name}.jsonl' for name in only or KINDS)}.")
        # No worker is asked for vectors.
        serving.is_alone = True
        try:
            with throwaway_database():
                measures = {name: KINDS[name](folder) for name in names}
        except EmbeddedEngineError as problem:
            sys.exit(str(problem))
        if wrong:
            lines = ({"set": name, **row} for name, measure in measures.items() for row in measure.wrong)
            wrong.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
        if options["json"]:
            kept = {
                name: {"figures": measure.figures, "by_language": measure.by_language}
                for name, measure in measures.items()
            }
            self.stdout.write(json.dumps(kept, ensure_ascii=False, indent=2))
            return
        for name, measure in measures.items():
            self.stdout.write(f"{name}: {_in_words(measure.figures)}; {len(measure.wrong)} wrong")
            for language, figures in measure.by_language.items():
                self.stdout.write(f"  {language}: {_in_words(figures)}")


def _in_words(figures: dict[str, float | int]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in figures.items())
