"""Twice the text takes no parser or renderer of foreign text more than two and a half times as long."""

import itertools
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from notebook_app import disguises, rules_prompt, screening, search, versions
from reflection_app.adapters.llm.errors import read_fault, redact
from reflection_app.loops.answer_reading import read_answer
from reflection_app.loops.chain_of_thought import parse_chain_of_thought, work_in
from reflection_app.loops.code_answers import code_of, data_of
from reflection_app.loops.diagnosis.diagnose import signature_of, symptoms_of
from reflection_app.loops.framing import inside_frames
from reflection_app.loops.hidden_characters import hidden_in, revealed
from reflection_app.loops.json_paths import parse_path
from reflection_app.loops.marks import find_quote
from reflection_app.loops.protocol.classification import said_in_words
from reflection_app.loops.referee import examples_in
from reflection_app.loops.storable import storable
from reflection_app.loops.tool_failures import is_tool_failure
from reflection_app.loops.tool_tries import CallAnswer
from reflection_app.reviews.comments import mentions_in
from reflection_app.web.placed import find_shown, placed_answer, placed_text
from reflection_app.web.rendering import marked, render_answer

type Parser = Callable[[str], Any]
PARSERS: dict[str, Parser] = {
    "parts of an attempt": parse_chain_of_thought,
    "work of an attempt": work_in,
    "structured answer": lambda text: read_answer(text, schema=CallAnswer),
    "code of an answer": lambda text: code_of(text, entry_point="f"),
    "data of an answer": lambda text: data_of(text, chain_of_thought=True),
    "redaction": redact,
    "provider's error": lambda text: read_fault(ValueError(text), model="a/b"),
    "tool's failure": lambda text: is_tool_failure({"role": "tool", "content": text}),
    "error's signature": signature_of,
    "error's symptoms": symptoms_of,
    "says that it does not know": said_in_words,
    "examples of a task": lambda text: examples_in(text, entry_point="f"),
    "frames": inside_frames,
    "storable": storable,
    "path of a value": parse_path,
    "screening": lambda text: screening.scan([text]),
    "disguises": lambda text: (disguises.folded(text), list(disguises.decoded(text))),
    "words of the notebook": lambda text: list(search.tokens_of(search.plain(text))),
    "notebook in a prompt": lambda text: (rules_prompt.defused(text), rules_prompt.without_notebook(text)),
    "differences of versions": lambda text: versions.pieces_of(text, text[::-1]),
    "differences on a page": lambda text: marked(text, text[::-1]),
    "mentions": lambda text: list(mentions_in(text, {"ana", "ben"})),
    "hidden characters": lambda text: (hidden_in(text), revealed(text)),
    "marked passage": lambda text: find_quote(text, text[len(text) // 2 :].swapcase()),
    "copied passage": lambda text: find_shown(text, text[len(text) // 2 :].swapcase()),
    "answer on a page": lambda text: render_answer(text, is_code=False),
    "answer with places": lambda text: (placed_answer(text, is_code=False), placed_text(text)),
}
PUMPS = (
    *" \t\na0.-_'\"\\({[<`*#:=|>\u200b",
    *("a.", "a-", "a ", "a\n", "a@", "0 ", "```\n", "`a` ", "[a](", '{"a":', "<a ", "<b>", "</", "<think>", "</think>"),
    *("## Plan\n", "<h2>Plan\t", "Plan:\n", "authorization: ", "a://", "Error: a\n", "f(1) == ", "@ana "),
    *("// ", "never use a, ", "中文，", "> ", "- a\n", "|a|b|\n|-|-|\n", "~~~\n", "&#", "step 1 "),
    *("\\u0061", "NFKCﷺ", "/*"),
)
LENGTHS = (3_000, 6_000)
MOST_GROWTH = 2.5
FLOOR_S = 0.05
_once = itertools.count()


def cpu_s(parser: Parser, pump: str, length: int, *, times: int) -> float:
    """CPU seconds for so long a text of one pump; the least of so many. No two texts are equal: results are cached."""
    taken = []
    for _ in range(times):
        text = f"<h2>Understand {next(_once)} " + pump * (length // len(pump)) + "x"
        began = time.thread_time()
        with suppress(ValueError, RecursionError):
            parser(text)
        taken.append(time.thread_time() - began)
    return min(taken)


def growth(parser: Parser, pump: str) -> float:
    """How many times as long twice the text takes; 0 where that is too little to measure, or the time is bounded."""
    for factor in (1, 2, 4):
        shorter, longer = (cpu_s(parser, pump, factor * length, times=3) for length in LENGTHS)
        if longer < FLOOR_S or longer <= MOST_GROWTH * shorter:
            return 0.0
    return longer / shorter


@pytest.mark.parametrize("name", PARSERS)
def test_twice_the_text_takes_at_most_two_and_a_half_times_as_long(name: str) -> None:
    parser = PARSERS[name]
    looked_at = [pump for pump in PUMPS if cpu_s(parser, pump, LENGTHS[1], times=1) > FLOOR_S]
    assert {pump: times for pump in looked_at if (times := growth(parser, pump))} == {}
