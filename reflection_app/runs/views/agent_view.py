"""What an outside agent brings to a run, as the run's page shows it. All of it is a stranger's text."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from django.utils.translation import gettext as _

from reflection_app.loops.effects import AwaitAttempt, AwaitTurns, RecordReflection
from reflection_app.runs.models.attempt import Attempt
from reflection_app.runs.models.run import Step

# The timeline's words for steps that an agent has a part in.
AGENT_STEPS = {AwaitAttempt.kind: "handed_in", AwaitTurns.kind: "turns", RecordReflection.kind: "reflection"}


@dataclass(frozen=True)
class ArtifactLine:
    """Something handed in beside an attempt. `link` is only ever an https address."""

    name: str
    media_type: str
    content: str
    uri: str

    @property
    def link(self) -> str:
        try:
            parts = urlsplit(self.uri)
        except ValueError:
            return ""
        return self.uri if parts.scheme == "https" and parts.hostname else ""

    @property
    def size(self) -> int:
        return len(self.content.encode(errors="surrogatepass"))


def artifacts_of(attempt: Attempt) -> list[ArtifactLine]:
    found: list[Any] = attempt.artifacts if isinstance(attempt.artifacts, list) else []
    return [
        ArtifactLine(*(str(one.get(name) or "") for name in ("name", "media_type", "content", "uri")))
        for one in found
        if isinstance(one, dict)
    ]


def self_check_of(attempt: Attempt) -> list[tuple[str, Any]]:
    """What the agent said of its own attempt, without the answer to whether it is content, which stands apart."""
    check = attempt.self_check if isinstance(attempt.self_check, dict) else {}
    return [(name.replace("_", " "), value) for name, value in check.items() if name != "is_satisfactory"]


def turns_words(step: Step) -> str:
    """`turns 6 to 10`, or for which turn is waited."""
    result = step.result if isinstance(step.result, dict) else {}
    seqs = [turn["seq"] for turn in result.get("turns", ())]
    if seqs:
        if len(seqs) == 1:
            return _("turn %(number)s") % {"number": seqs[0]}
        return _("turns %(first)s to %(last)s") % {"first": seqs[0], "last": seqs[-1]}
    if result.get("is_end"):
        return _("its end")
    return _("turn %(number)s") % {"number": step.request["after"] + step.request["count"]}
