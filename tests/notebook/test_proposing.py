"""What is proposed again is counted where it is, however many propose at once and however it is written."""

from collections import Counter
from typing import Any
from unicodedata import normalize
from uuid import UUID, uuid4

import pytest

from notebook_app.identity import same_text
from notebook_app.kinds import By, EntryKind, EntryState, Refused
from notebook_app.merging import merge
from notebook_app.models import Entry, Evidence
from notebook_app.proposing import Proposal, keep, keep_all, own_evidence, take_back_proposal
from tests.notebook.at_once import at_once
from tests.notebook.entries import SOMEBODY, make_entry

pytestmark = pytest.mark.django_db

MISTAKES = [
    *(f"The {thing} of order 4711 was given without tax" for thing in ("total", "price", "café", "rest", "discount")),
    *(
        f"The tool {tool} was called with the id 0a0a0a0a-4a4a, which no answer had"
        for tool in ("refund", "lookup", "cancel", "book")
    ),
    *(f"第 4711 号订单的{thing}没有含税" for thing in ("总价", "单价", "折扣", "余额", "运费")),
    *(f"{who}在确认之前就调用了退款工具" for who in ("客服", "助手", "代理", "模型")),
    *(f"The answer named the {part} of another customer" for part in ("address", "card", "flight", "phone", "name")),
    *(f"It gave up after {what}" for what in ("one timeout", "an empty page", "a typo", "a redirect", "a lock")),
]
EXACTLY = 50
MISTAKES += [f"Step {word} of the plan was left out" for word in "abcdefghijklmnopqrstuvwxyz"][
    : EXACTLY - len(MISTAKES)
]


def written(text: str, time: int) -> str:
    """The same words as another run may send them."""
    ways = (text, f"  {text} ", text.replace(" ", "  "), text.replace(" ", "\n"), normalize("NFD", text))
    return ways[time % len(ways)]


def mistake(text: str, **given: Any) -> Proposal:
    return Proposal(kind=EntryKind.ERROR_NOTE, name=same_text(text)[:60], description=text, category="other", **given)


@pytest.mark.exhaustive("many at once, or many rows")
@pytest.mark.django_db(transaction=True)
def test_two_hundred_proposals_of_fifty_mistakes_are_fifty_entries_with_the_right_counts() -> None:
    assert len({*MISTAKES}) == EXACTLY
    project_id = uuid4()
    proposals = [
        mistake(written(MISTAKES[place % EXACTLY], place // EXACTLY), evidence={"run": str(uuid4())})
        for place in range(200)
    ]
    kept = at_once(lambda one: keep(project_id, one), proposals, threads=16)

    entries = list(Entry.objects.filter(project_id=project_id))
    assert len(entries) == EXACTLY
    assert {entry.occurrences for entry in entries} == {4}
    assert sum(one.is_new for one in kept) == EXACTLY
    assert all(one.is_counted for one in kept)
    told = Counter(one.entry.pk for one in kept)
    assert {entry.pk: entry.evidence.count() for entry in entries} == told


@pytest.mark.exhaustive("many at once, or many rows")
@pytest.mark.django_db(transaction=True)
def test_four_writers_of_a_hundred_entries_each_lose_nothing() -> None:
    project_id = uuid4()

    def write(writer: int) -> None:
        for number in range(100):
            rule = Proposal(kind=EntryKind.RULE, name=f"Rule {number} of writer {writer}", evidence=own_evidence())
            keep(project_id, rule)

    at_once(write, range(4), threads=4)
    entries = Entry.objects.filter(project_id=project_id)
    assert entries.count() == 400
    assert set(entries.values_list("occurrences", "version")) == {(1, 1)}
    assert Evidence.objects.filter(project_id=project_id).count() == 400


@pytest.mark.django_db(transaction=True)
def test_overlapping_lists_in_opposite_order_do_not_wait_for_each_other_for_ever() -> None:
    project_id = uuid4()
    into = keep(project_id, mistake(MISTAKES[0])).entry
    gone = keep(project_id, mistake(MISTAKES[9])).entry
    merge(project_id, gone_id=gone.pk, into_id=into.pk, by=SOMEBODY)

    def propose(turn: int) -> None:
        texts = MISTAKES[:20] if turn % 2 else MISTAKES[19::-1]
        keep_all(project_id, [mistake(text, evidence={"run": str(UUID(int=turn + 1))}) for text in texts])

    at_once(propose, range(24), threads=8)
    counts = Entry.objects.filter(project_id=project_id, state=EntryState.PROPOSED).values_list("pk", "occurrences")
    # Both of the merged are proposed with the same evidence, which counts once.
    assert dict(counts).pop(into.pk) == 2 + 24
    assert {count for pk, count in counts if pk != into.pk} == {24}


def test_the_same_evidence_counts_once_and_none_counts_nothing() -> None:
    project_id, refs = uuid4(), {"run": "r", "attempt": "2"}
    first = keep(project_id, mistake("It forgot the tax", evidence=refs))
    again = keep(project_id, mistake("It  forgot the\ttax", evidence={"attempt": "2", "run": "r"}))
    bare = keep(project_id, mistake("It  forgot the\ttax"))
    assert (first.is_new, again.is_counted, bare.is_counted) == (True, False, False)
    assert bare.entry.occurrences == 1


@pytest.mark.parametrize("state", [EntryState.REJECTED, EntryState.RETIRED, EntryState.APPROVED])
def test_what_was_decided_is_counted_and_stays_so(state: EntryState) -> None:
    project_id = uuid4()
    entry = keep(project_id, mistake("It forgot the tax", evidence=own_evidence())).entry
    Entry.objects.filter(pk=entry.pk).update(state=state)
    again = keep(project_id, mistake("It forgot the tax", evidence=own_evidence())).entry
    assert (again.pk, again.state, again.occurrences) == (entry.pk, state, 2)


def test_what_models_say_is_made_storable_and_short_enough() -> None:
    hostile = "a\x00b\ud800 <script>alert(1)</script> '; DROP TABLE x; -- {{ 7*7 }} \u202e"
    proposal = Proposal(
        kind=EntryKind.ANTI_PATTERN,
        name=hostile * 50,
        description=hostile * 2_000,
        content="c" * 30_000,
        details={"symptoms": [hostile], "prevention": hostile},
        agent=hostile * 20,
        category=hostile,
        tags=(hostile, " ", *(f"tag {number}" for number in range(40))),
        source=hostile * 30,
        evidence={"run": hostile},
    )
    entry = keep(uuid4(), proposal).entry
    entry.refresh_from_db()
    assert entry.description.startswith("a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER} <script>")
    assert (len(entry.name), len(entry.content), len(entry.tags)) == (200, 20_000, 20)
    assert keep(entry.project_id, proposal).is_new is False


def test_fields_that_are_not_those_of_the_kind_are_refused_by_name() -> None:
    with pytest.raises(Refused) as refused:
        keep(uuid4(), Proposal(kind=EntryKind.RULE, name="x", details={"cause": "y"}))
    assert refused.value.field == "details.cause"
    with pytest.raises(Refused) as refused:
        keep(uuid4(), Proposal(kind=EntryKind.RULE, name=" \n "))
    assert refused.value.field == "name"


def test_what_is_taken_back_was_never_proposed() -> None:
    project_id, mine, others = uuid4(), {"run": "mine"}, {"run": "others"}
    keep(project_id, mistake("It forgot the tax", source="one", evidence=others))
    # Known by its words: the entry has the other's source.
    keep(project_id, mistake(" It forgot  the tax", source="two", evidence=mine))
    take_back_proposal(project_id, mistake(" It forgot  the tax", source="two", evidence=mine))
    entry = Entry.objects.get(project_id=project_id)
    assert (entry.occurrences, entry.evidence.get().refs) == (1, others)
    take_back_proposal(project_id, mistake("In other words", source="one", evidence=others))
    assert not Entry.objects.filter(project_id=project_id).exists()


def test_what_somebody_worked_on_is_not_taken_back() -> None:
    project_id, refs = uuid4(), {"run": "r"}
    proposal = mistake("It forgot the tax", source="one", evidence=refs)
    entry = keep(project_id, proposal).entry
    gone = make_entry(project_id)
    merge(project_id, gone_id=gone.pk, into_id=entry.pk, by=By("anna"))
    take_back_proposal(project_id, proposal)
    entry.refresh_from_db()
    assert entry.occurrences == 2
