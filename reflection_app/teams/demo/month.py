"""The demo's month: which tale is told when, with which models, so that it reads like four weeks of a small team.

Weekdays are busy and weekends are not. Lessons are approved one after the other, and the runs that are given one do
better at the first attempt than those from which it is withheld: so success grows over the month, and lift can say why.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import Any

from reflection_app.teams.demo.filling import Tale

DAYS = 30
OF_A_WEEKDAY, OF_A_WEEKEND_DAY = (12, 16), (1, 4)
WEEKEND = 5
# How often a first attempt succeeds: with the lesson, without it, and where there is none, at first and at last.
WITH_LESSON, WITHOUT, AT_FIRST, AT_LAST = 0.88, 0.36, 0.5, 0.74
WITHHELD_SHARE = 0.3
# What share of the runs that may be reviewed are.
REVIEWED = 0.56
GIVES_UP = 0.16
# How often each agent is asked for something.
BUSY = {
    "support-writer": 58,
    "coder": 36,
    "extractor": 14,
    "sql-analyst": 9,
    "copywriter": 9,
    "译者": 6,
    "note-taker": 6,
}
USUAL_BUSY = 4
ACTORS = {
    "support-writer": ("openai/gpt-5-mini", "openai/gpt-5-mini", "anthropic/claude-haiku-4-5"),
    "coder": ("anthropic/claude-sonnet-4-5", "anthropic/claude-sonnet-4-5", "deepseek/deepseek-chat"),
    "extractor": ("deepseek/deepseek-chat", "openai/gpt-5-mini"),
    "译者": ("deepseek/deepseek-chat",),
}
USUAL_ACTORS = ("openai/gpt-5-mini", "anthropic/claude-sonnet-4-5", "anthropic/claude-haiku-4-5")
CRITICS = ("openai/gpt-5", "openai/gpt-5", "openai/gpt-5", "anthropic/claude-haiku-4-5")
SUCCEEDED_REVIEWS = (
    *("audited", "audited", "audited", "audited", "unsure-approved", "unsure-approved"),
    *("audit-overruled", "panel-agrees", "panel-agrees", "panel-differs"),
)
FAILED_REVIEWS = ("unsure-overruled", "rejected-closed", "rejected-redone", "revised")
# What comes besides: so many of each in the month, by the beginning of the tale's name.
BESIDES = {"session-": 15, "failure-": 26, "check-": 8}
AUDITS_OPEN = 6
JUST_NOW = timedelta(minutes=25)
SCATTERED = ("rival-prices", "test-plan", "train-puzzle", "shift-plan")


@dataclass(frozen=True)
class Planned:
    tale: Tale
    begins: datetime
    models: Mapping[str, str]
    until: datetime


def planned_month(
    tales: Mapping[str, Tale], *, now: datetime, chance: Random, most: int | None = None
) -> list[Planned]:
    """What is told, in the order of its beginnings; with `most`, about so many of the runs of the month."""
    month = Month(tales, now=now, chance=chance)
    days = [*month.days()]
    if most is not None:
        days = chance.sample(days, min(most, len(days)))
    return sorted([*days, *month.besides(), *month.now_waiting()], key=lambda one: one.begins)


class Month:
    def __init__(self, tales: Mapping[str, Tale], *, now: datetime, chance: Random) -> None:
        self.tales, self.now, self.chance = tales, now, chance
        life: Mapping[str, Mapping[str, Any]] = tales["notebook"].facts["life"]
        # How many days ago the lesson of an agent was approved.
        self.approved: dict[str, float] = {
            one["agent"]: one["days"] - one["after"] for one in life.values() if one["agent"]
        }
        families: dict[str, set[str]] = defaultdict(set)
        for tale in tales.values():
            if tale.course == "clean":
                families[tale.facts["agent"]].add(tale.family)
        self.families = {agent: sorted(names) for agent, names in sorted(families.items())}

    def days(self) -> Iterator[Planned]:
        agents = list(self.families)
        weights = [BUSY.get(agent, USUAL_BUSY) for agent in agents]
        for ago in range(DAYS, -1, -1):
            day = self.now - timedelta(days=ago)
            many = self.chance.randint(*(OF_A_WEEKEND_DAY if day.weekday() >= WEEKEND else OF_A_WEEKDAY))
            for _ in range(many):
                begins = self.at_work(day)
                if begins < self.now - JUST_NOW:
                    [agent] = self.chance.choices(agents, weights)
                    yield self.planned(self.course_of(self.chance.choice(self.families[agent]), agent, begins), begins)

    def course_of(self, family: str, agent: str, begins: datetime) -> Tale:
        """How it goes this time."""
        ago = (self.now - begins) / timedelta(days=1)
        lessons, chance = "", AT_FIRST + (AT_LAST - AT_FIRST) * (1 - ago / DAYS)
        if ago < self.approved.get(agent, 0.0):
            lessons = "withheld" if self.chance.random() < WITHHELD_SHARE else "given"
            chance = WITHOUT if lessons == "withheld" else WITH_LESSON
        elif agent in self.approved:
            chance = WITHOUT
        succeeds = self.chance.random() < chance
        courses = ["clean"] if succeeds else ["exhausted" if self.chance.random() < GIVES_UP else "revised"]
        if self.chance.random() < REVIEWED:
            courses.insert(0, self.chance.choice(SUCCEEDED_REVIEWS if succeeds else FAILED_REVIEWS))
        for course in (*courses, "clean" if succeeds else "revised"):
            for variant in dict.fromkeys(
                (lessons, "") if lessons != "withheld" or course == "exhausted" else (lessons,)
            ):
                found = self.tales.get("/".join(filter(None, (family, course, variant))))
                if found is not None:
                    return found
        return self.tales[f"{family}/clean"]

    def besides(self) -> Iterator[Planned]:
        for beginning, many in BESIDES.items():
            tales = [tale for name, tale in self.tales.items() if name.startswith(beginning)]
            for number in range(many):
                yield self.planned(tales[number % len(tales)], self.some_day(0.5))
        # Each course of what ends in a report, at least twice.
        for tale in self.tales.values():
            if tale.family in SCATTERED and tale.course == "revised":
                for _ in range(2):
                    yield self.planned(tale, self.some_day(1, DAYS - 4))
            elif tale.course == "ticket":
                yield self.planned(tale, self.some_day(0.6, 4))

    def now_waiting(self) -> Iterator[Planned]:
        """What waits for whoever looks, and the stories that they may go on with: of the last two days."""
        audits = sorted(name for name, tale in self.tales.items() if tale.course == "audit-open")
        chosen = set(self.chance.sample(audits, min(AUDITS_OPEN, len(audits))))
        open_ones = [t for name, t in self.tales.items() if t.course in {"open", "now"} or name in chosen]
        for number, tale in enumerate(sorted(open_ones, key=lambda one: (one.course == "now", one.name))):
            ago_h = 0.3 + 0.35 * (len(open_ones) - number) if tale.course == "now" else self.chance.uniform(4, 44)
            begins = self.now - timedelta(hours=ago_h)
            yield self.planned(tale, begins)

    def planned(self, tale: Tale, begins: datetime) -> Planned:
        agent = str(tale.facts["agent"])
        models = {
            "actor": self.chance.choice(ACTORS.get(agent, USUAL_ACTORS)),
            "critic": self.chance.choice(CRITICS),
        }
        return Planned(tale, begins, models, until=self.now - timedelta(seconds=self.chance.randint(30, 400)))

    def at_work(self, day: datetime) -> datetime:
        """A moment of that day, most likely late in the morning or early in the afternoon."""
        hour = self.chance.gauss(10.3, 1.3) if self.chance.random() < 0.55 else self.chance.gauss(14.8, 1.5)
        return day.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(hours=min(max(hour, 7.2), 19.5))

    def some_day(self, earliest: float, latest: float = DAYS - 1.0) -> datetime:
        """A moment at work, between so many days ago."""
        begins = self.at_work(self.now - timedelta(days=self.chance.uniform(earliest, latest)))
        return begins if begins < self.now - JUST_NOW else begins - timedelta(days=1)


def first_told(planned: Sequence[Planned], entry_slots: Mapping[str, frozenset[str]]) -> dict[str, datetime]:
    """When each entry of the notebook that a tale proposed was first learned, by the entry's name."""
    found: dict[str, datetime] = {}
    for one in planned:
        for name in entry_slots.get(one.tale.name, ()):
            found.setdefault(name, one.begins)
    return found
