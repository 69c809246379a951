"""Seven stories that a visitor may go on with: loops that really ran, with scripts that the desk keeps."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from reflection_app.reviews.models import About
from tests.teams.demo_tales.notebook import JONAS, MAYA
from tests.teams.demo_tales.recording import Scene, Tape, builtin


@dataclass(frozen=True)
class Story:
    script: str
    task: dict[str, Any]
    is_rejected_by_a_person: bool = False


DURATION_CASES = [
    {"name": "minutes", "args": ["30m"], "expected": 1800},
    {"name": "hours and minutes", "args": ["1h30m"], "expected": 5400},
    {"name": "seconds", "args": ["45s"], "expected": 45},
    {"name": "all units", "args": ["1d2h3m4s"], "expected": 93784},
]

SALES = """month,orders,revenue_eur
2025-01,812,41200
2025-02,790,39800
2025-03,871,45100
2025-04,860,43900
2025-05,905,47300
2025-06,893,46100
2025-07,877,44800
2025-08,801,40500
2025-09,934,48900
2025-10,988,52600
2025-11,1306,71400
2025-12,1187,63800
"""

TOLD = (
    Story(
        script="demo-duration",
        task={
            "objective": "Write `parse_duration(text)`: it returns the seconds in a duration such as `1d2h30m15s`.",
            "agent": "coder",
            "kind": "code_generation",
            "tests": {"entry_point": "parse_duration", "cases": DURATION_CASES},
        },
    ),
    Story(
        script="demo-release-note",
        task={
            "objective": "为 2.4 版写一份发布说明（中文，200 字以内）：导出功能、列表页提速、时间线修复；"
            "必须写明不兼容的改动和升级步骤。",
            "agent": "写作助手",
            "kind": "creative_writing",
        },
    ),
    Story(
        script="demo-refund-reply",
        task={
            "objective": "Answer this customer: the kettle (€49.90) she bought 12 days ago came with a cracked lid. "
            "Our policy: within 30 days the customer chooses between a new one and a refund.",
            "agent": "support-writer",
            "kind": "creative_writing",
        },
    ),
    Story(
        script="demo-market-summary",
        task={
            "objective": "Summarise the European heat pump market 2020–2024 on one page, with a table of units sold by "
            "country and year, and a source for each figure.",
            "agent": "researcher",
            "kind": "research",
            "limits": {"token_budget": 2000},
        },
    ),
    Story(
        script="demo-medical-advice",
        task={
            "objective": "Answer a patient who takes a beta blocker and asks what to do when the pulse races, and "
            "whether the tablets can be stopped. From the leaflet: “Never stop suddenly or change the dose without "
            "your doctor: your pulse may rise sharply. With a racing pulse and chest pain, call the emergency number.”",
            "agent": "support-writer",
            "kind": "creative_writing",
        },
        is_rejected_by_a_person=True,
    ),
    Story(
        script="demo-sales-plan",
        task={
            "objective": "Which month of the attached sales figures was the strongest, how far above the average was "
            "it, and what should the team look at next? Answer in three sentences.",
            "agent": "analyst",
            "mode": "planning",
            "tools": ["read_file", "python"],
            "files": [{"path": "sales/2025.csv", "content": SALES}],
            "limits": {"token_budget": 30_000},
        },
    ),
    # The first scenario of the third design seed.
    Story(
        script="demo-papers",
        task={
            "objective": "收集关于智能体反思与记忆的论文：至少 5 篇，其中至少 3 篇关键论文（key 为 true）。"
            "以 JSON 回答，每篇写明标题、年份、arXiv 编号和一句说明。",
            "agent": "academic-researcher",
            "kind": "research",
            "requirements": {
                "required_fields": ["papers[].title", "papers[].arxiv"],
                "counts": [
                    {"path": "papers", "min": 5, "name": "论文"},
                    {"path": "papers", "where": {"key": True}, "min": 3, "name": "关键论文"},
                ],
            },
            "limits": {"token_budget": 30_000},
        },
    ),
)


def _played(story: Story) -> Callable[[Tape], None]:
    def play(tape: Tape) -> None:
        scene = Scene(tape, f"{story.script}/now", agent=str(story.task["agent"]), script=story.script)
        builtin(scene)
        run = scene.run({}, **story.task)
        if story.is_rejected_by_a_person:
            scene.decide(scene.waiting(), by=MAYA, reason="Dangerous advice. It must not reach a patient in any form.")
            scene.go_on(run)
        if story.script == "demo-refund-reply":
            text = "Our policy lets the customer choose. Does this reply leave her the choice?"
            scene.say(About.REVIEW, scene.waiting().pk, text, by=JONAS)
        scene.end(first=None, is_story=True)

    return play


STORIES: tuple[Callable[[Tape], None], ...] = tuple(_played(story) for story in TOLD)
