"""Learns anew what the desk judges by meaning."""

import sys
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from django.core.management.base import BaseCommand
from numpy.typing import NDArray

import judgement
from judgement.linear import MODEL
from judgement.training import does_not_know as unknown
from judgement.training import entry_pairs, lesson_screening, recall, same_mistake, tool_errors
from reflection_app.adapters.llm.embedding import embed, wheels_file
from reflection_app.adapters.llm.errors import ModelError
from reflection_app.metrics.judged.kinds import failure_of

TRAINED: dict[str, Callable[..., dict[str, float]]] = {
    "same_mistake": same_mistake.train,
    "does_not_know": unknown.train,
    "entry_pairs": lambda *args, **options: entry_pairs.train(*args, model=wheels_file(), **options),
    "lesson_screening": lambda *args, **options: lesson_screening.train(*args, model=wheels_file(), **options),
    "recall": recall.train,
    "tool_errors": partial(tool_errors.train, as_failure=failure_of),
}
DATA = Path(judgement.__file__).with_name("data")
EMBED_WITHIN_S = 3_600.0


class Command(BaseCommand):
    help = (
        "Learns the classifiers anew from packages/judgement, and prints their figures by cross-validation: no row is "
        "judged by what was learned from its like. With --write the weights that ship are replaced."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"all, or some of {', '.join(TRAINED)}")
        parser.add_argument("--labels", type=Path, metavar="FOLDER", help="learn from a desk's own corrections, too")
        parser.add_argument("--judged", type=Path, metavar="FOLDER", help="learn from rows that people judged, too")
        parser.add_argument("--write", action="store_true", help="keep the weights")

    def handle(self, *args: Any, kinds: list[str], **options: Any) -> None:
        if unknown_kinds := set(kinds) - TRAINED.keys():
            sys.exit(f"There is no {', '.join(sorted(unknown_kinds))}; there are {', '.join(TRAINED)}.")
        kept: dict[tuple[bool, str], list[float]] = {}

        def vectors(texts: Sequence[str], as_query: bool) -> NDArray[np.float64]:
            # Each text once: to make a vector of it takes far longer than all that follows.
            lacking = list(dict.fromkeys(text for text in texts if (as_query, text) not in kept))
            made = embed(lacking, model=MODEL, as_query=as_query, timeout_s=EMBED_WITHIN_S)
            kept.update(zip(((as_query, text) for text in lacking), made, strict=True))
            return np.array([kept[as_query, text] for text in texts], float)

        for kind in kinds or TRAINED:
            try:
                figures = TRAINED[kind](
                    vectors, data=DATA, labels=options["labels"], judged=options["judged"], write=options["write"]
                )
            except (ModelError, OSError, ValueError) as problem:
                sys.exit(f"{kind}: {problem}")
            self.stdout.write(f"{kind}: " + ", ".join(f"{name} {value:.3f}" for name, value in figures.items()))
