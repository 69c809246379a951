"""Two entries are the same only if their words are. What is counted on another entry keeps its own words."""

import json
from importlib import import_module
from typing import Literal
from unicodedata import normalize
from uuid import uuid4

import pytest
from django.apps import apps

from notebook_app.comparing import compare
from notebook_app.curation import edit
from notebook_app.entry_filter import EntryFilter
from notebook_app.interchange.exporting import json_lines
from notebook_app.interchange.formats import read_line
from notebook_app.kinds import By, EntryKind, EntryState
from notebook_app.learning import Became, keep_learned
from notebook_app.listing import Listing
from notebook_app.merging import merge, reopen
from notebook_app.models import Conflict, Entry, Exposure
from notebook_app.proposing import Proposal, keep, own_evidence, take_back_proposal
from notebook_app.reading import wordings_of
from tests.notebook.entries import make_entry

pytestmark = pytest.mark.django_db

ANNA = By("anna")
type Form = Literal["NFC", "NFD"]
OPPOSED = [
    ("Pass if score >= 50", "Pass if score <= 50"),
    ("Stop when x == y", "Stop when x != y"),
    ("Shift it by +5", "Shift it by -5"),
    ("The limit is $10", "The limit is €10"),
    ("Use C", "Use C++"),
    ("Use C", "Use C#"),
    ("✅ merge", "❌ merge"),
    ("Swap if a > b", "Swap if a < b"),
    ("Match [a-z]+", "Match [a-z]*"),
    ("Call foo()", "Call Foo()"),
    ("Raise x² first", "Raise x2 first"),
    ("Wait 30 s", "Wait 300 s"),
    ("Round ½ up", "Round 1⁄2 up"),
    ("结果 ≥ 五十", "结果 ≤ 五十"),
]


@pytest.mark.parametrize("kind", list(EntryKind))
def test_words_that_differ_in_a_sign_are_two_entries(kind: EntryKind) -> None:
    # What tells words apart is the same for every kind.
    for pair in OPPOSED if kind is EntryKind.RULE else OPPOSED[:2]:
        project_id = uuid4()
        kept = [keep(project_id, Proposal(kind, text, description=text, evidence=own_evidence())) for text in pair]
        assert [each.is_new for each in kept] == [True, True], pair


@pytest.mark.parametrize(("one", "other"), OPPOSED[:3])
def test_the_opposite_of_what_a_run_was_told_is_learned_from_it(one: str, other: str) -> None:
    project_id = uuid4()
    # Long enough not to be the same by chance.
    told = make_entry(project_id, name="How it is done", content=f"In every job: {one}", state="approved")
    Exposure.objects.create(
        project_id=project_id, entry=told, entry_version=1, subject="run", share=0, draw=1, is_withheld=False,
        rank=1, score=1,
    )  # fmt: skip
    echo, opposite = (
        Proposal(EntryKind.LESSON, "Seen", content=f"In  every job: {text}", evidence=own_evidence())
        for text in (one, other)
    )
    became = keep_learned(project_id, [echo, opposite], work=[], told=["run"])
    assert [each.became for each in became] == [Became.REFUSED, Became.ADDED]


def test_the_same_anti_pattern_of_many_agents_is_one_entry_that_all_of_them_are_told() -> None:
    project_id = uuid4()
    agents = [f"agent-{number}" for number in range(9)]
    for agent in agents:
        details = {"symptoms": ["one search"], "prevention": "Search twice."}
        proposal = Proposal(EntryKind.ANTI_PATTERN, "Stopping early", agent=agent, details=details)
        keep(project_id, Proposal(**vars(proposal) | {"evidence": own_evidence()}))
    entry = Entry.objects.get(project_id=project_id)
    assert (entry.occurrences, entry.agents) == (9, agents)
    compare(project_id, entry.pk)
    assert not Conflict.objects.filter(project_id=project_id).exists()
    waiting = EntryFilter(states=(EntryState.SCREENED,), agent="agent-7").among(project_id)
    assert waiting.get() == entry
    assert Listing(agent="agent-7").rows(project_id).get() == entry
    assert not EntryFilter(states=(), agent="another").among(project_id).exists()


def test_an_agent_that_a_curator_sets_decides_who_is_told() -> None:
    project_id = uuid4()
    for agent in ("one", "two"):
        keep(project_id, Proposal(EntryKind.RULE, "Kebab", agent=agent, evidence=own_evidence()))
    entry = Entry.objects.get(project_id=project_id)
    edit(project_id, entry.pk, by=ANNA, agent="three")
    reached = {
        agent: EntryFilter(states=(), agent=agent).among(project_id).exists() for agent in ("one", "two", "three")
    }
    assert reached == {"one": False, "two": False, "three": True}


def test_an_agent_whose_work_is_taken_back_was_never_seen() -> None:
    project_id = uuid4()
    one, two = (Proposal(EntryKind.RULE, "Kebab", agent=agent, evidence={"run": agent}) for agent in ("one", "two"))
    keep(project_id, one)
    keep(project_id, two)
    take_back_proposal(project_id, two)
    entry = Entry.objects.get(project_id=project_id)
    assert (entry.agents, entry.occurrences) == (["one"], 1)


def test_other_words_under_the_same_source_are_counted_and_stored() -> None:
    project_id = uuid4()
    first = Proposal(EntryKind.RULE, "Scores", content="Pass from 50.", source="scores", evidence=own_evidence())
    other = Proposal(EntryKind.RULE, "Scores", content="Pass up to 50.", source="scores", evidence=own_evidence())
    keep(project_id, first)
    entry = keep(project_id, other).entry
    assert (entry.content, entry.occurrences) == ("Pass from 50.", 2)
    [wording] = wordings_of([entry])[entry.pk]
    assert wording.said == {"content": "Pass up to 50."}


def test_words_that_an_entry_got_by_an_edit_are_known_and_so_are_those_it_had() -> None:
    project_id = uuid4()
    entry = keep(project_id, Proposal(EntryKind.RULE, "Scores", content="Pass >= 50", evidence=own_evidence())).entry
    edit(project_id, entry.pk, by=ANNA, content="Pass <= 50")
    now = keep(project_id, Proposal(EntryKind.RULE, "Scores", content="Pass <= 50", evidence=own_evidence()))
    assert (now.entry.pk, now.is_new) == (entry.pk, False)
    before = keep(project_id, Proposal(EntryKind.RULE, "Scores", content="Pass >= 50", evidence=own_evidence()))
    assert (before.entry.pk, before.entry.occurrences) == (entry.pk, 3)
    assert [one.said for one in wordings_of([before.entry])[entry.pk]] == [{"content": "Pass >= 50"}]


def test_a_merge_keeps_the_words_of_the_entry_that_gives_way_and_an_export_takes_them_along() -> None:
    project_id = uuid4()
    gone, stays = (
        keep(project_id, Proposal(EntryKind.RULE, name, agent=name, evidence=own_evidence())).entry
        for name in ("Retry twice", "Retry two times")
    )
    merged = merge(project_id, gone_id=gone.pk, into_id=stays.pk, by=ANNA)
    assert merged.agents == ["Retry two times", "Retry twice"]
    [wording] = wordings_of([merged])[stays.pk]
    assert (wording.said["name"], wording.entry_id) == ("Retry twice", gone.pk)
    assert merged.evidence.exclude(wordings=[]).get().wordings[0]["name"] == "Retry twice"

    [line] = json_lines([merged])
    item = read_line(json.loads(line), file="entries.jsonl")
    assert [said["name"] for said in item.wordings] == ["Retry twice"]
    assert item.agents == merged.agents

    reopen(project_id, gone.pk, by=ANNA)
    parted = Entry.objects.get(pk=stays.pk)
    assert (parted.agents, wordings_of([parted])) == (["Retry two times"], {})


@pytest.mark.parametrize("typed", ["NFC", "NFD"])
@pytest.mark.parametrize("asked", ["NFC", "NFD"])
def test_names_labels_and_words_are_found_in_either_unicode_form(typed: Form, asked: Form) -> None:
    project_id = uuid4()
    said, wanted = normalize(typed, "Café résumé Việt"), normalize(asked, "Café résumé Việt")
    proposal = Proposal(
        EntryKind.RULE, said, content=f"{said} {said}", agent=said, category=said, tags=(said,), evidence={"run": "1"}
    )
    entry = keep(project_id, proposal).entry
    for found in (
        EntryFilter(states=(), agent=wanted),
        EntryFilter(states=(), category=wanted),
        EntryFilter(states=(), tags=(wanted,)),
    ):
        assert found.among(project_id).get() == entry
    assert Listing(words=wanted).rows(project_id).get() == entry
    assert Listing(agent=wanted).rows(project_id).get() == entry
    Entry.objects.filter(pk=entry.pk).update(name="x", content="x", description=said)
    assert Listing(words=wanted).rows(project_id).get() == entry
    again = keep(project_id, Proposal(**vars(proposal) | {"name": wanted, "content": f"{wanted} {wanted}"}))
    assert again.entry == entry
    edit(project_id, entry.pk, by=ANNA, name="Other", tags=[wanted, said])
    assert len(Entry.objects.get(pk=entry.pk).tags) == 1


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_a_memory_of_a_name_that_is_taken_is_refused_in_either_unicode_form(form: Form) -> None:
    project_id = uuid4()
    keep(project_id, Proposal(EntryKind.RULE, normalize("NFC", "Café"), content="One.", evidence=own_evidence()))
    other = Proposal(EntryKind.RULE, normalize(form, "Café"), content="Two.", evidence=own_evidence())
    [became] = keep_learned(project_id, [other], work=[], told=[])
    assert became.became is Became.REFUSED


def test_the_migration_gives_old_entries_their_keys_and_merges_and_loses_nothing() -> None:
    project_id = uuid4()
    old = [make_entry(project_id, name="Cafe\u0301", content="Pass >= 50", agent=agent) for agent in ("one", "two")]
    edited = make_entry(project_id, name="Scores", content="Pass >= 60")
    edit(project_id, edited.pk, by=ANNA, content="Pass <= 60")
    Entry.objects.update(text_key="", agents=[])
    fingerprints = [one.fingerprint for one in old]

    import_module("notebook_app.migrations.0007_identity_of_words").give_keys(apps, None)

    first, second = Entry.objects.filter(pk__in=[one.pk for one in old]).order_by("created_at", "id")
    assert (first.name, first.agents, second.agents) == ("Caf\u00e9", ["one"], ["two"])
    assert first.text_key == second.text_key
    assert first.fingerprint == first.text_key
    assert second.fingerprint in fingerprints
    again = keep(project_id, Proposal(EntryKind.LESSON, "Caf\u00e9", content="Pass >= 50", evidence=own_evidence()))
    assert (again.is_new, Entry.objects.filter(project_id=project_id).count()) == (False, 3)
    for content in ("Pass >= 60", "Pass <= 60"):
        told = keep(project_id, Proposal(EntryKind.LESSON, "Scores", content=content, evidence=own_evidence()))
        assert told.entry.pk == edited.pk
