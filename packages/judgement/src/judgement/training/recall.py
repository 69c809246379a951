"""Train the weights of `judgement.recall`: first the space of the embeddings, then the decision in it.

The space and the question's type are learned together by a softmax over a notebook's entries and "none of them". The
decision is learned on questions whose notebook the space has not seen.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgement.linear import WEIGHTS, Linear, Numbers, fit, keep
from judgement.recall import (
    KIND,
    Candidate,
    Space,
    Way,
    lexical,
    likeness_features,
    meaning_features,
    space,
    word_features,
    words_of,
)

type Embed = Callable[[Sequence[str], bool], NDArray[Any]]
type Marks = NDArray[np.bool_]

FOLDS = 6
STEPS = 200
LEARNING_RATE = 0.003
# Regularization towards unchanged vectors, and towards no effect of the question's type.
TOWARDS_PLAIN = 0.1
TOWARDS_NOTHING = 0.003
SHARPNESS = 12.0
LIKENESS_OF_NONE = 0.4
# Maximum number of notebooks merged at once, because large ones are harder.
MOST_TOGETHER = 5
AVERAGED_FROM, AVERAGE_KEEPS = 60, 0.98
RIDGE = 10.0
# Lower ranks are never used, and more negatives teach nothing.
PLACES_READ = 12
COUNTS_OF_MINOR = 0.4
SMALL = (2, 5)
# Accepted share of answers where nothing concerns the task, and of wrong answers. Both are below the targets, because
# notebooks differ. Words alone mislead most if they come from another field than the training data.
NONE_TOLD = 0.06
TOLD_WRONG = {Way.MEANING: 0.08, Way.LIKENESS: 0.08, Way.WORDS: 0.05}
TOLD_AT_MOST = 5
# Rarer words are not stored; they count as the rarest.
LEAST_COUNTED = 4


@dataclass(frozen=True)
class Notebook:
    """Questions and entries, and their relations. Shapes: (q, 384), (e, 384), (q, e)."""

    questions: Numbers
    entries: Numbers
    relevant: Marks
    minor: Marks
    asked: tuple[str, ...]
    texts: tuple[Candidate, ...]
    words: Numbers

    def part(self, questions: Sequence[int], entries: Sequence[int]) -> "Notebook":
        """Return a notebook with some of the questions and entries."""
        grid = np.ix_(questions, entries)
        return Notebook(
            self.questions[questions],
            self.entries[entries],
            self.relevant[grid],
            self.minor[grid],
            tuple(self.asked[one] for one in questions),
            tuple(self.texts[one] for one in entries),
            self.words[grid] if self.words.size else self.words,
        )


# A notebook, and the regression's features of its questions and entries.
type Seen = tuple[Notebook, Numbers]


def train(
    embed: Embed, *, data: Path, labels: Path | None = None, judged: Path | None = None, write: bool = False
) -> dict[str, float]:
    """Return the figures of a cross-validation by notebook. With `write`, store what is learned from all."""
    folders = [data, *(one for one in (labels, judged) if one)]
    files = [folder / f"{KIND}.jsonl" for folder in folders]
    notebooks = read(embed, [file for file in files if file.exists()])
    shuffled = np.random.default_rng(1).permutation(len(notebooks))
    folds = [[notebooks[one] for one in shuffled[start::FOLDS]] for start in range(FOLDS)]
    seen: dict[Way, list[Seen]] = defaultdict(list)
    ordered: list[list[Seen]] = []
    for fold in folds:
        others = [one for other in folds if other is not fold for one in other]
        learned, counts = learn_space(others), counted(others)
        part = [with_words(one, counts) for one in (*fold, merged(fold), *small_ones(fold))]
        for way in Way:
            seen[way] += [(one, features_of(way, learned, one)) for one in part]
        ordered.append(list(seen[Way.MEANING][-len(part) :]))
    gates = {way: learn_gate(seen[way], told_wrong=TOLD_WRONG[way]) for way in Way}
    figures = {f"{way}_{name}": value for way in Way for name, value in _measured(gates[way], seen[way]).items()}
    figures |= _by_fold(seen[Way.MEANING], ordered)
    if write:
        learned, counts = learn_space(notebooks), counted(notebooks)
        arrays = {name: getattr(learned, name).astype(np.float16) for name in Space.__dataclass_fields__}
        np.savez_compressed(WEIGHTS / f"{KIND}.npz", allow_pickle=False, **arrays)
        numbers = {f"{way}_{part}": getattr(gate, part) for way, gate in gates.items() for part in vars(gate)}
        keep(KIND, **numbers, counts=counts)
        space.cache_clear()
    return figures


def read(embed: Embed, files: Iterable[Path]) -> list[Notebook]:
    """Return the notebooks in files of rows. A row is an entry or a question, and names its notebook."""
    rows = defaultdict[str, list[dict[str, Any]]](list)
    for file in files:
        for line in file.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            rows[f"{file} {row.get('notebook', '')}"].append(row)
    return [_read(embed, some) for some in rows.values() if any("query" in row for row in some)]


def _read(embed: Embed, rows: Sequence[dict[str, Any]]) -> Notebook:
    entries = [row for row in rows if "query" not in row]
    asked = [row for row in rows if "query" in row]
    texts = tuple(Candidate(row["title"], row["text"]) for row in entries)
    questions = tuple(" ".join(row["query"].split()) for row in asked)
    relevant, minor = (
        np.array([[entry["id"] in row[name] for entry in entries] for row in asked], bool)
        for name in ("relevant", "minor")
    )
    return Notebook(
        np.asarray(embed(questions, True), float),
        np.asarray(embed([f"{one.name}\n{one.text}" for one in texts], False), float),
        relevant,
        minor,
        questions,
        texts,
        np.empty(0),
    )


def counted(notebooks: Iterable[Notebook]) -> dict[str, int]:
    """Return the number of texts with each common word; "" is the number of all texts."""
    texts = [text for one in notebooks for text in (*one.asked, *(f"{each.name}\n{each.text}" for each in one.texts))]
    counts = Counter(word for text in texts for word in words_of(text)[0])
    return {"": len(texts)} | {word: many for word, many in sorted(counts.items()) if many >= LEAST_COUNTED}


def with_words(one: Notebook, counts: dict[str, int]) -> Notebook:
    """Return the notebook with the word features of its questions and entries."""
    words = np.stack([lexical(question, one.texts, counts) for question in one.asked])
    return Notebook(one.questions, one.entries, one.relevant, one.minor, one.asked, one.texts, words)


def merged(notebooks: Sequence[Notebook]) -> Notebook:
    """Return one notebook with all entries and all questions."""
    shape = (sum(len(one.asked) for one in notebooks), sum(len(one.texts) for one in notebooks))
    relevant, minor = np.zeros(shape, bool), np.zeros(shape, bool)
    row = column = 0
    for one in notebooks:
        here = slice(row, row + len(one.asked)), slice(column, column + len(one.texts))
        relevant[here], minor[here] = one.relevant, one.minor
        row, column = row + len(one.asked), column + len(one.texts)
    return Notebook(
        np.concatenate([one.questions for one in notebooks]),
        np.concatenate([one.entries for one in notebooks]),
        relevant,
        minor,
        tuple(text for one in notebooks for text in one.asked),
        tuple(text for one in notebooks for text in one.texts),
        np.empty(0),
    )


def small_ones(notebooks: Sequence[Notebook]) -> list[Notebook]:
    """Return notebooks of a few entries with the questions that they concern and as many that they do not."""
    chance, found = np.random.default_rng(2), []
    for one in notebooks:
        for size in SMALL:
            entries = chance.permutation(len(one.texts))[:size]
            concerned = (one.relevant | one.minor)[:, entries].any(1)
            others = chance.permutation(np.flatnonzero(~concerned))[: max(3, concerned.sum())]
            found.append(one.part([*np.flatnonzero(concerned), *others], list(entries)))
    return found


def learn_space(notebooks: Sequence[Notebook]) -> Space:
    """Learn the space in which questions are near the entries that concern them, by Adam.

    The result is the mean of the later steps.
    """
    chance = np.random.default_rng(0)
    of_questions = np.concatenate([one.questions for one in notebooks]).mean(0)
    of_entries = np.concatenate([one.entries for one in notebooks]).mean(0)
    nothing = np.zeros(len(of_entries))
    now = {"turn": np.eye(len(nothing)), "question": nothing, "entry": nothing, "none": np.array(LIKENESS_OF_NONE)}
    rates = {"turn": 1.0, "question": 5.0, "entry": 5.0, "none": 1.0}
    first, second = ({name: np.zeros_like(value) for name, value in now.items()} for _ in range(2))
    mean = now
    for step in range(1, STEPS + 1):
        size = min(len(notebooks), int(chance.integers(1, MOST_TOGETHER + 1)))
        one = merged([notebooks[place] for place in chance.choice(len(notebooks), size, replace=False)])
        slopes = _slopes(now, one, one.questions - of_questions, one.entries - of_entries)
        for name, slope in slopes.items():
            first[name] = 0.9 * first[name] + 0.1 * slope
            second[name] = 0.99 * second[name] + 0.01 * slope**2
            by = (first[name] / (1 - 0.9**step)) / (np.sqrt(second[name] / (1 - 0.99**step)) + 1e-8)
            now[name] = now[name] - LEARNING_RATE * rates[name] * by
        kept = AVERAGE_KEEPS if step > AVERAGED_FROM else 0.0
        mean = {name: kept * mean[name] + (1 - kept) * now[name] for name in now}
    return Space(mean["turn"], of_questions, of_entries, mean["question"], mean["entry"])


def _slopes(now: dict[str, Numbers], one: Notebook, asked: Numbers, written: Numbers) -> dict[str, Numbers]:
    """Return the gradients of the loss.

    The loss is the negative log probability of the entries that concern each question, or of "none of them".
    """
    turned = asked @ now["turn"], written @ now["turn"]
    lengths = [np.linalg.norm(each, axis=1, keepdims=True) for each in turned]
    here, there = (each / length for each, length in zip(turned, lengths, strict=True))
    likeness = here @ there.T
    odds = SHARPNESS * (likeness - now["none"]) - (asked @ now["question"])[:, None] - written @ now["entry"]
    odds = np.where(one.minor, -1e9, odds)
    top = np.maximum(odds.max(1, keepdims=True), 0)
    weights = np.exp(odds - top)
    said = weights / (weights.sum(1, keepdims=True) + np.exp(-top))
    right = weights * one.relevant
    wanted = right / np.maximum(right.sum(1, keepdims=True), 1e-30)
    slope = (said - wanted) / len(asked)
    # Questions with only minor matches count neither way.
    slope[one.minor.any(1) & ~one.relevant.any(1)] = 0
    by_here, by_there = SHARPNESS * slope @ there, SHARPNESS * slope.T @ here
    up = (by_here - here * (by_here * here).sum(1, keepdims=True)) / lengths[0]
    down = (by_there - there * (by_there * there).sum(1, keepdims=True)) / lengths[1]
    return {
        "turn": asked.T @ up + written.T @ down + TOWARDS_PLAIN * (now["turn"] - np.eye(len(now["turn"]))),
        "question": TOWARDS_NOTHING * now["question"] - asked.T @ slope.sum(1),
        "entry": TOWARDS_NOTHING * now["entry"] - written.T @ slope.sum(0),
        "none": np.array(-SHARPNESS * slope.sum()),
    }


def features_of(way: Way, learned: Space, one: Notebook) -> Numbers:
    """Return the regression's features on this basis. Shape (questions, entries, features)."""
    alike = learned.likeness(one.questions, one.entries)
    plain = one.questions @ one.entries.T
    rows = []
    for place, question in enumerate(one.questions):
        words = one.words[place]
        if way is Way.MEANING:
            rows.append(meaning_features(learned, question, one.entries, alike[place], words))
        elif way is Way.LIKENESS:
            rows.append(likeness_features(plain[place], words))
        else:
            rows.append(word_features(words))
    return np.stack(rows)


def learn_gate(seen: Sequence[Seen], *, told_wrong: float) -> Linear:
    """Fit the regression on the top ranks, with the lowest threshold whose share of wrong answers is acceptable."""
    rows, labels, counts = [], [], []
    for one, features in seen:
        # The top ranks per question by similarity or words: the first feature is what they are ordered by.
        read_ = (-features[..., 0]).argsort(1).argsort(1) < PLACES_READ
        rows.append(features[read_])
        labels.append((one.relevant | one.minor)[read_])
        counts.append(np.where(one.minor[read_], COUNTS_OF_MINOR, 1.0))
    found = fit(np.concatenate(rows), np.concatenate(labels).astype(float), ridge=RIDGE, counts=np.concatenate(counts))
    for threshold in np.arange(-3, 6, 0.05):
        gate = Linear(found.weights, found.bias, float(threshold))
        told = _measured(gate, seen)
        if told["none_told"] <= NONE_TOLD and told["told_wrong"] <= told_wrong:
            break
    return gate


def _measured(gate: Linear, seen: Iterable[Seen]) -> dict[str, float]:
    """Return the shares of wrong answers, and retrieval figures.

    They include the share of questions without a match that still get an answer, and the share of wrong answers.
    """
    none, hits, told_at_all, wrong, ranked, reciprocal = [], [], 0, 0, [], []
    for one, features in seen:
        odds = features @ gate.weights + gate.bias
        order = (-odds).argsort(1)
        first = order[:, :TOLD_AT_MOST]
        told = np.take_along_axis(odds, first, 1) > gate.threshold
        right = np.take_along_axis(one.relevant, first, 1)
        fine = right | np.take_along_axis(one.minor, first, 1)
        asked = one.relevant.any(1)
        none.append(told[~(one.relevant | one.minor).any(1)].any(1))
        told_at_all, wrong = told_at_all + int(told.sum()), wrong + int((told & ~fine).sum())
        of = np.minimum(TOLD_AT_MOST, one.relevant.sum(1)[asked])
        hits.append((told & right).sum(1)[asked] / of)
        ranked.append(right.sum(1)[asked] / of)
        reciprocal.append(1 / (1 + np.take_along_axis(one.relevant, order, 1).argmax(1)[asked]))
    return {
        "none_told": round(float(np.concatenate(none).mean()), 3),
        "told_wrong": round(wrong / max(1, told_at_all), 3),
        "told_recall_at_5": round(float(np.concatenate(hits).mean()), 3),
        "recall_at_5": round(float(np.concatenate(ranked).mean()), 3),
        "mrr": round(float(np.concatenate(reciprocal).mean()), 3),
    }


def _by_fold(seen: Sequence[Seen], folds: Sequence[list[Seen]]) -> dict[str, float]:
    """Return the figures on notebooks unseen by the space, the regression and its threshold, by size."""
    parts: dict[str, list[dict[str, float]]] = defaultdict(list)
    for fold in folds:
        unseen = {id(one) for one, _ in fold}
        others = [rows for rows in seen if id(rows[0]) not in unseen]
        gate = learn_gate(others, told_wrong=TOLD_WRONG[Way.MEANING])
        largest = max(len(one.texts) for one, _ in fold)
        sizes = {"small": range(max(SMALL) + 1), "usual": range(max(SMALL) + 1, largest), "large": [largest]}
        for name, size in sizes.items():
            if mine := [rows for rows in fold if len(rows[0].texts) in size]:
                parts[name].append(_measured(gate, mine))
    return {
        f"unseen_{name}_{figure}": round(float(np.mean([one[figure] for one in many])), 3)
        for name, many in parts.items()
        for figure in many[0]
    }
