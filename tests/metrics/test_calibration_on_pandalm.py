"""Both recorded judges of PandaLM's pairs against the majority of three people, all through the import.

What they are compared with is counted here from the recorded file alone, in whole numbers and fractions.
"""

from collections import Counter
from fractions import Fraction
from typing import Any

import pytest

from reflection_app.metrics.calibration import by_critic, compared_items
from tests import given
from tests.metrics.judgements import JUDGES, imported, recorded_pairs, rows_of

# As the file writes them: the first is better, neither is, the second is; in the order PASS, REVISE, REJECT.
ANSWERS = ("1", "0", "2")


def counted(pairs: list[dict[str, Any]], judge: str) -> list[list[int]]:
    """The table of one judge: its answers in rows, what at least two of three people answered in columns."""
    table = [[0, 0, 0] for _ in ANSWERS]
    for pair in pairs:
        answers = [str(pair[name]) for name in ("annotator1", "annotator2", "annotator3")]
        most = max(answers, key=answers.count)
        said = {"Tie": "0"}.get(str(pair[judge]), str(pair[judge]))
        if answers.count(most) >= 2 and said in ANSWERS:
            table[ANSWERS.index(said)][ANSWERS.index(most)] += 1
    return table


def kappa(table: list[list[int]]) -> Fraction:
    """n·Σ diagonal − Σ row·column, over n² − Σ row·column: Cohen's κ in whole numbers."""
    n = sum(map(sum, table))
    by_chance = sum(sum(table[k]) * sum(row[k] for row in table) for k in range(3))
    return Fraction(n * sum(table[k][k] for k in range(3)) - by_chance, n * n - by_chance)


@pytest.mark.parametrize("model", JUDGES)
def test_kappa_and_matrix_are_those_of_an_independent_computation(db: None, model: str) -> None:
    pairs = recorded_pairs()
    project = given.project()
    batch = imported(project, rows_of(pairs))
    garbage = Counter(str(pair["gpt_result"]) for pair in pairs)["garbage"]
    assert batch.judgements.count() == 2 * len(pairs) - garbage
    rows, _undecided = compared_items(project.pk)
    found = {one.critic.model: one.calibration for one in by_critic(rows)}
    table = counted(pairs, JUDGES[model])
    assert found[model].pairs == sum(map(sum, table)) > 450
    assert [cell.seen for cell in found[model].matrix] == [count for row in table for count in row]
    ours = found[model].kappa
    assert ours is not None
    assert ours.estimate == pytest.approx(float(kappa(table)), abs=1e-12)
    assert ours.low < ours.estimate < ours.high
    agreed, precision = found[model].agreed, found[model].precision
    assert agreed is not None
    assert precision is not None
    assert agreed.estimate == pytest.approx(sum(table[k][k] for k in range(3)) / found[model].pairs)
    assert precision.estimate == pytest.approx(table[0][0] / sum(table[0]))


def test_items_on_which_people_are_split_are_told_and_in_no_figure(db: None) -> None:
    pairs = recorded_pairs()
    project = given.project()
    imported(project, rows_of(pairs))
    split = sum(len({str(pair[f"annotator{number}"]) for number in (1, 2, 3)}) == 3 for pair in pairs)
    _rows, undecided = compared_items(project.pk)
    assert (undecided.split, undecided.unjudged) == (split, 0)
