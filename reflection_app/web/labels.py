"""Words that are kept or drawn in English (states, kinds, what the pure loops call things), as their reader reads them.

What is not among them, such as what a person or a model wrote, is shown as it is.
"""

import re

from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

LABELS = {
    # Roles of members, and of models.
    _("Viewer"), _("Reviewer"), _("Curator"), _("Admin"),
    _("Critic"),
    _("Actor"), _("Self"), _("Reflector"), _("Classifier"), _("Tester"), _("Planner"), _("Diagnoser"),
    _("Escalation"),
    # States of runs, steps, tickets, repairs, instructions and entries.
    _("Queued"), _("Running"), _("Waiting for review"), _("Waiting for the agent"), _("Waiting"), _("Finished"),
    _("Done"), _("Failed"), _("Abandoned"), _("Open"), _("In progress"), _("Resolved"), _("Superseded"), _("Closed"),
    _("pending"), _("completed"), _("written"), _("failed"), _("skipped"), _("proposed"), _("Proposed"), _("Accepted"),
    _("Declined"),
    # Issues, severities, efforts, kinds of tasks.
    _("completeness"), _("correctness"), _("format"), _("quality"), _("other"),
    _("low"), _("medium"), _("high"), _("critical"),
    _("code generation"), _("creative writing"), _("reasoning"), _("data extraction"),
    # Classes of errors.
    _("Model capability"), _("Decision error"), _("Pipeline crash"), _("Missing knowledge"), _("Normal iteration"),
    # Nodes and edges of a run's graph.
    _("Task"), _("Step"), _("Tool"), _("Tests"), _("Turns"), _("Plan"), _("Plan, revised"), _("Review"),
    _("Random check"), _("Question"), _("Completeness"), _("Loop chosen"), _("Classified"), _("Verdict"),
    _("Self-evaluation"), _("Critique"), _("Generated tests"), _("Check"), _("Minimum requirements"),
    _("A person's verdict"), _("Reflection"), _("Classification"), _("Tests written"), _("Repair plan"),
    _("Diagnosis"), _("Completeness check"), _("Second look"), _("Resumed"), _("Attempts used up"), _("Out of time"),
    _("Over-corrected"), _("Succeeded"), _("Unverified"), _("Over budget"), _("Rejected"), _("Cancelled"),
    _("handed in"), _("answered"), _("tried again"), _("given up"), _("agreed"), _("overruled"), _("rejected"),
    _("not good enough"), _("edited"), _("kept"), _("pass"), _("revise"), _("reject"), _("complete"),
    _("incomplete"), _("unchecked"), _("validated"), _("reflected"), _("rewound"), _("fixed"), _("led to"),
    _("actor"), _("escalation"), _("no answer"), _("refused"), _("filtered"), _("called a tool"), _("cut off"),
    _("It sent nothing."), _("It refused without a word."), _("The provider's content filter stopped it."),
    _("It was cut off: the most tokens were reached before the answer's end."),
    _("The answer was cut off before its end."),
    _("actor critic"), _("external loop"), _("reflexion"), _("planning"), _("reflection protocol"),
    # The checklists of reports.
    _("The error analysis is concrete"), _("The repair actions are concrete steps"), _("There is a revised output"),
    _("The learning notes can be used again"), _("Meets the minimum requirements"),
    _("Fixes every issue of the ticket"), _("The format is right"), _("it says nothing"), _("none was named"),
    _("written by code, since the model gave no usable answer"), _("a normal iteration needs no repair"),
    _("there are none"), _("none was submitted yet"), _("the task has none"), _("it was not judged yet"),
    _("the ticket named none; the verdict decides"), _("all of them, by code"),
    _("all of them, against a lowered expectation"), _("Has a reflection_id"), _("Has a timestamp"),
    _("Names the agent"), _("Names the trigger"), _("Names the rewind ticket"),
    _("The classification has a valid code"), _("Has an anti-pattern"), _("Named as a new version"),
    _("it is empty"), _("the task names no agent"), _("the surface issue"), _("what happened"), _("the root cause"),
    _("compared by meaning"), _("compared by words"),
    # The questions that the class of an error follows from, and what answers them.
    _("Was the task completed?"), _("Was the pipeline interrupted?"), _("Is it the same mistake again?"),
    _("Did the agent say that it does not know?"), _("Yes"), _("No"), _("the run broke off"),
    _("the output is empty"), _("completed, but below the bar"), _("no such mistake before"), _("not completed"),
    _("no earlier mistake to compare it with"), _("there is no earlier report"), _("the run's earlier tickets"),
    _("score"),
    # Minimum requirements.
    _("schema"), _("data that fits the schema"), _("it fits"), _("it is there"), _("items"), _("item"),
    _("characters"), _("character"), _("words"), _("word"), _("lines"), _("line"),
    _("the list"), _("Bring the data into the form of the schema"), _("Fill in what is missing"),
    _("Bring the number to what is required"), _("Produce the file, whole and as it is required"),
    # Why a model's tests leave open which attempt to keep; some are of recorded runs only.
    _("All examples of the task hold, and the model's own tests do not speak against it."),
    _("Most tests that the model wrote pass."),
    _("Most tests that the model wrote fail; it saw that, and came back with the same answers."),
    _("The rewrite gives the same answers in another form; which form is meant, the tests cannot settle."),
    _("Most tests that the model wrote fail, but the rewrite does worse still."),
    _("Most tests that the model wrote fail; every rewrite gives the same answers or does worse."),
    _("Most tests that the model wrote fail, and there is no other answer to compare with."),
    _("No test that the model wrote can be used."),
    _("No attempt before it gave any answer at all; this one does."),
    _("Most tests that the model wrote fail, and the rewrite answers otherwise; which is right is open."),
    _("It fails an example that the task itself gives."), _("It gives no answer on any test."),
    # Why a loop was chosen.
    _("Tests came with the task."),
    _("A schema of the answer came with the task."),
    _("Minimum requirements came with the task."),
    _("A call of a tool came with the task."),
    _("Tools came with the task; its agent hands in calls."),
    _("Tools came with the task."),
    _("Running it shows whether it works."),
    _("Reasoning is checked by thinking it through again."),
    _("Nothing can check it and there is no critic, so the model judges itself."),
    _("A text is best judged by a critic."),
    _("Nothing can check it by running it, so a critic judges."),
}  # fmt: skip

FIXES = (
    "Bring the data into the form of the schema|Fill in what is missing|Bring the number to what is required|"
    "Produce the file, whole and as it is required"
)
PARTS = "(?:the surface issue|what happened|the root cause)"
# The same with a number or words of somebody in them. `%(said)s` is a label itself, or stays as it is.
PATTERNS = [
    (re.compile(pattern, re.DOTALL), words)
    for pattern, words in (
        (r"Attempt (?P<number>\d+)", _("Attempt %(number)s")),
        (r"Repair step (?P<number>\d+)", _("Repair step %(number)s")),
        (
            r"The (?P<said>\w+) gave no answer in (?P<number>\d+) tries\.",
            _("The %(said)s gave no answer in %(number)s tries."),
        ),
        (
            r"The (?P<who>\w+) gave no answer in (?P<number>\d+) tries\. (?P<said>.+)",
            _("The %(who)s gave no answer in %(number)s tries. %(said)s"),
        ),
        (r"It refused: (?P<said>.+)", _("It refused: %(said)s")),
        (
            r"It called a tool in place of answering: (?P<said>.+)\.",
            _("It called a tool in place of answering: %(said)s."),
        ),
        (r"score (?P<number>[\d.]+)", _("score %(number)s")),
        (r"all (?P<number>\d+) passed", _("all %(number)s passed")),
        (r"all (?P<number>\d+) requirements met", _("all %(number)s requirements met")),
        (r"(?P<number>\d+) of (?P<all>\d+) tests", _("%(number)s of %(all)s tests")),
        (r"(?P<number>\d+) of (?P<all>\d+) requirements", _("%(number)s of %(all)s requirements")),
        (r"(?P<number>\d+) issues?", _("%(number)s issues")),
        (r"agreed: (?P<said>\w+)", _("agreed: %(said)s")),
        (r"overruled: (?P<said>\w+)", _("overruled: %(said)s")),
        (r"failed: (?P<said>.+)", _("failed: %(said)s")),
        (r"not met: (?P<said>.+)", _("not met: %(said)s")),
        (r"still there \((?P<way>[^)]+)\): (?P<said>.+)", _("still there (%(way)s): %(said)s")),
        (rf"(?P<said>{PARTS}(?:, {PARTS})*) missing", _("%(said)s missing")),
        (rf"(?P<first>{PARTS}), (?P<said>{PARTS}.*)", _("%(first)s, %(said)s")),
        (r"(?P<number>\d+) say nothing", _("%(number)s say nothing")),
        (
            (
                r"(?P<kind>Model capability|Decision error|Pipeline crash|Missing knowledge|Normal iteration|"
                rf"{FIXES}): "
                "(?P<said>.+)"
            ),
            _("%(kind)s: %(said)s"),
        ),
        (
            r"(?P<said>.+); (?P<why>no such mistake before|no earlier mistake to compare it with)",
            _("%(said)s; %(why)s"),
        ),
        (r"all (?P<number>\d+) minimum requirements are met", _("all %(number)s minimum requirements are met")),
        (
            r"(?P<number>\d+) of (?P<all>\d+) minimum requirements are not met: (?P<said>.+)",
            _("%(number)s of %(all)s minimum requirements are not met: %(said)s"),
        ),
        (r"something essential is missing: (?P<said>.+)", _("something essential is missing: %(said)s")),
        (
            r"its (?P<what>completeness|score) is (?P<number>[\d.]+), below (?P<bar>[\d.]+)",
            _("its %(what)s is %(number)s, below %(bar)s"),
        ),
        (
            (
                r"its (?P<what>completeness|score) is (?P<number>[\d.]+), at or above (?P<bar>[\d.]+), "
                r"and nothing essential is missing"
            ),
            _("its %(what)s is %(number)s, at or above %(bar)s, and nothing essential is missing"),
        ),
        (r"nothing alike in (?P<said>.+)", _("nothing alike in %(said)s")),
        (r"(?P<number>\d+) earlier reports?", _("%(number)s earlier reports")),
        (
            r"(?P<number>\d+) like it in (?P<where>.+?), such as “(?P<said>.+)”(?P<report>(?: \(\w+\))?)",
            _("%(number)s like it in %(where)s, such as “%(said)s”%(report)s"),
        ),
        (
            r"Minimum requirement not met: (?P<said>.+)\. Found: (?P<found>.*)\.",
            _("Minimum requirement not met: %(said)s. Found: %(found)s."),
        ),
        (r"at least (?P<number>[\d,]+) (?P<said>.+)", _("at least %(number)s %(said)s")),
        (r"at most (?P<number>[\d,]+) (?P<said>.+)", _("at most %(number)s %(said)s")),
        (r"exactly (?P<number>[\d,]+) (?P<said>.+)", _("exactly %(number)s %(said)s")),
        (r"(?P<least>[\d,]+) to (?P<most>[\d,]+) (?P<said>.+)", _("%(least)s to %(most)s %(said)s")),
        (
            r"(?P<unit>items?|characters?|words?|lines?) in (?P<place>.+?) with (?P<said>.+ = .+)",
            _("%(unit)s in %(place)s with %(said)s"),
        ),
        (r"(?P<unit>items?|characters?|words?|lines?) in (?P<place>.+)", _("%(unit)s in %(place)s")),
        (r"(?P<place>.+) is there and not empty", _("%(place)s is there and not empty")),
        (r"(?P<place>.+) may be missing", _("%(place)s may be missing")),
        (r"(?P<place>\$\S*) is empty", _("%(place)s is empty")),
        (
            r"(?P<code>\w*), decided by the tree over recorded facts, or by a person",
            _("%(code)s, decided by the tree over recorded facts, or by a person"),
        ),
        (r"(?P<place>\$\S*) is missing", _("%(place)s is missing")),
        (r"no data: (?P<said>.+)", _("no data: %(said)s")),
        (
            r"(?P<number>\d+) of (?P<all>\d+) examples of the task hold\.",
            _("%(number)s of %(all)s examples of the task hold."),
        ),
        (
            r"(?P<number>\d+) of (?P<all>\d+) tests that the model wrote pass\.",
            _("%(number)s of %(all)s tests that the model wrote pass."),
        ),
        (
            r"On (?P<number>\d+) of the others all attempts agree with each other, against the test\.",
            _("On %(number)s of the others all attempts agree with each other, against the test."),
        ),
        (
            r"It does not pass these tests, and nothing shows that they are wrong: (?P<said>.+)\.",
            _("It does not pass these tests, and nothing shows that they are wrong: %(said)s."),
        ),
        (
            (
                r"(?P<number>\d+) of (?P<all>\d+) tests fail by themselves, whatever the code is, so they say nothing "
                r"of it\."
            ),
            _("%(number)s of %(all)s tests fail by themselves, whatever the code is, so they say nothing of it."),
        ),
        (r"The rest passed: (?P<number>\d+)\.", _("The rest passed: %(number)s.")),
    )
]


def in_words(text: object) -> str:
    """`text` in the reader's language, if it is one of the desk's own words."""
    said = str(text)
    if said in LABELS:
        return gettext(said)
    if len(said) > 1000:
        return said
    spaced = said.replace("_", " ")
    if spaced != said and spaced in LABELS and gettext(spaced) != spaced:
        return gettext(spaced)
    return next((told for told in (_told(said, *pattern) for pattern in PATTERNS) if told), said)


def _told(said: str, pattern: re.Pattern[str], words: str) -> str:
    found = pattern.fullmatch(said)
    template = gettext(words) if found else ""
    # An English reader gets what was said, to the letter.
    if found is None or template == words:
        return ""
    return template % {name: in_words(value) for name, value in found.groupdict().items()}
