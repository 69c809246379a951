"""The passages that issues mark, as a page shows them: numbered, and linked with their issues in both directions."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from pydantic import ValidationError

from reflection_app.loops.marks import Mark, MarkedText
from reflection_app.loops.verdicts import Issue
from reflection_app.web.placed import Passage

AnyIssue = Issue | Mapping[str, Any]


def mark_of(issue: AnyIssue) -> Mark | None:
    """The issue's mark; None where it has none, or one of a form that is no more."""
    found = issue.mark if isinstance(issue, Issue) else issue.get("mark")
    if found is None or isinstance(found, Mark):
        return found
    try:
        return Mark.model_validate(found)
    except ValidationError:
        return None


@dataclass(frozen=True)
class IssueShown:
    """An issue with its mark. `number` is None where the page does not show the passage; `name` is the issue's id."""

    issue: AnyIssue
    mark: Mark | None
    number: int | None = None
    name: str = ""
    href: str = ""

    @property
    def where(self) -> str:
        """The lines of the passage, in words."""
        mark = self.mark
        if mark is None or mark.line is None or mark.last_line is None:
            return ""
        if mark.line == mark.last_line:
            said = _("line %(line)s") % {"line": mark.line}
        else:
            said = _("lines %(first)s–%(last)s") % {"first": mark.line, "last": mark.last_line}
        if mark.text is MarkedText.OUTPUT:
            return _("output of step %(step)s, %(lines)s") % {"step": mark.step, "lines": said}
        return _("attempt %(number)s, %(lines)s") % {"number": mark.attempt, "lines": said} if mark.attempt else said


# Which text, and from where to where.
Key = tuple[MarkedText, int | None, int | None, int, int]


class Passages:
    """The passages of one page or one attempt of it. `place` keeps their names apart from others of the page.

    `attempt` is the number of the one that verdicts are on. Each number belongs to one passage, however many issues
    are about it.
    """

    def __init__(self, place: str, *, attempt: int) -> None:
        self.place, self.attempt = place, attempt
        self._numbers: dict[Key, int] = {}
        self._marks: dict[Key, Mark] = {}
        self._named: set[int] = set()

    def __bool__(self) -> bool:
        return bool(self._numbers)

    def add(self, issues: Iterable[AnyIssue]) -> None:
        """Numbers what the issues mark, in their order."""
        for issue in issues:
            if (mark := mark_of(issue)) is not None:
                key = self._key(mark)
                self._numbers.setdefault(key, len(self._numbers) + 1)
                self._marks.setdefault(key, mark)

    def of_attempt(self, content: str, *, number: int | None = None) -> list[Passage]:
        """Those of the attempt with this text; of `number`, where it is not the one that is judged."""
        return self._of(content, MarkedText.ATTEMPT, number or self.attempt, None)

    def of_output(self, output: str, *, step: int) -> list[Passage]:
        return self._of(output, MarkedText.OUTPUT, None, step)

    def shown(self, issues: Iterable[AnyIssue]) -> list[IssueShown]:
        """The issues with their numbers. The first that is shown of each number is what the passage leads to."""
        shown = []
        for issue in issues:
            mark = mark_of(issue)
            number = self._numbers.get(self._key(mark)) if mark is not None else None
            if number is None:
                shown.append(IssueShown(issue, mark))
                continue
            name = "" if number in self._named else self._issue_name(number)
            self._named.add(number)
            shown.append(IssueShown(issue, mark, number=number, name=name, href=self._passage_name(number)))
        return shown

    def _of(self, content: str, text: MarkedText, attempt: int | None, step: int | None) -> list[Passage]:
        # A fork may have the verdict of an attempt that was written anew: what is not there is not shown there.
        return [
            Passage(
                mark.start,
                mark.end,
                number=number,
                label=_("Issue %(number)s") % {"number": number},
                href=self._issue_name(number),
                name=self._passage_name(number),
            )
            for key, number in self._numbers.items()
            if key[:3] == (text, attempt, step) and content[key[3] : key[4]] == (mark := self._marks[key]).exact
        ]

    def _key(self, mark: Mark) -> Key:
        attempt = (mark.attempt or self.attempt) if mark.text is MarkedText.ATTEMPT else None
        return (mark.text, attempt, mark.step, mark.start, mark.end)

    def _issue_name(self, number: int) -> str:
        return f"issue-{self.place}-{number}"

    def _passage_name(self, number: int) -> str:
        return f"passage-{self.place}-{number}"
