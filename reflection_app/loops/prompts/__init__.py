"""The prompts, one text file each. A prompt's version changes with any of its words, and every run records them all."""

import hashlib
from functools import cache
from importlib.resources import files
from string import Template

NAMES = (
    "after_errors",
    "after_errors_system",
    "after_last",
    "after_memories",
    "after_memories_system",
    "after_result",
    "after_session",
    "agent_instructions",
    "answer_again",
    "chain_of_thought",
    "classify",
    "code_failed_examples",
    "code_failed_tests",
    "code_failures",
    "code_sent_back",
    "code_suspect_failures",
    "code_system",
    "completeness_check",
    "completeness_missing",
    "completeness_supplement",
    "completeness_system",
    "critic_evaluate",
    "critic_requirements",
    "critic_system",
    "cut_off_next",
    "data_again",
    "data_system",
    "data_task",
    "diagnose_call",
    "diagnose_system",
    "inline_reflect",
    "inline_system",
    "merge_entries",
    "merge_system",
    "plan_again",
    "plan_answer",
    "plan_make",
    "plan_revise",
    "plan_step",
    "plan_system",
    "protocol_agent",
    "protocol_continue",
    "protocol_instructions",
    "protocol_learn",
    "protocol_plan",
    "protocol_plan_capability",
    "protocol_plan_crash",
    "protocol_plan_decision",
    "protocol_plan_iteration",
    "protocol_plan_knowledge",
    "protocol_reflect",
    "protocol_repair",
    "protocol_revise",
    "protocol_system",
    "protocol_task",
    "protocol_work_system",
    "redo_order",
    "redo_task",
    "reflect",
    "reflexion_next",
    "self_evaluate",
    "self_system",
    "start_hints",
    "structured_again",
    "structured_nonce",
    "task_instructions",
    "tests_system",
    "tests_write",
    "told_lessons",
    "tool_again",
    "tool_call",
    "tool_diagnosed",
    "tool_repeated",
    "tool_system",
    "tool_tried",
    "write_again",
    "write_earlier",
    "write_system",
)


@cache
def _text(name: str) -> str:
    return (files(__name__) / f"{name}.txt").read_text(encoding="utf-8").strip()


def prompt(name: str, **values: object) -> str:
    """The prompt `name` with its values filled in. Text inside the values is never looked at again."""
    return Template(_text(name)).substitute({key: str(value) for key, value in values.items()})


@cache
def _version(name: str) -> str:
    return hashlib.sha256(_text(name).encode()).hexdigest()[:12]


def versions() -> dict[str, str]:
    """A short hash of each prompt by its name."""
    return {name: _version(name) for name in NAMES}
