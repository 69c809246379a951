"""The words in which an agent says that it does not know, in English and Chinese: a fact that errors are classed by.

Read sentence by sentence. What somebody else says, or what is quoted, supposed, denied or past, does not count.
"""

import re
from collections.abc import Iterator
from itertools import islice

from reflection_app.loops.protocol.unknown_chinese import CHINESE
from reflection_app.loops.protocol.unknown_english import ENGLISH
from reflection_app.loops.protocol.unknown_patterns import Words

TABLE = (*ENGLISH, *CHINESE)
# Of longer texts, the beginning: who does not know does not need more words than this to say so.
LONGEST_LOOKED_AT = 60_000
# A longer run without an end is data and is read in pieces, so that no pattern has to look far.
LONGEST_SENTENCE = 600
LONGEST_QUOTE = 200
# Each costs the same however short it is: sixty thousand characters may be thirty thousand of them.
MOST_SENTENCES = 3_000

SENTENCE = re.compile(
    rf"[^.!?。！？；;\n\r](?:[^!?。！？；;\n\r.]|\.(?=\S)){{0,{LONGEST_SENTENCE - 2}}}[.!?。！？；;]?"
)
# What is in quotation marks, in code or in a quoted line is not the agent's own word. Bounded, so that a mark without
# its pair hides no more than a passage.
QUOTED = re.compile(
    r"```.{0,20000}?```|`[^`\n]{0,400}`|\"[^\"\n]{0,400}\"|“[^”\n]{0,400}”|‘[^’\n]{0,400}’|「[^」\n]{0,400}」|"
    r"『[^』\n]{0,400}』|《[^》\n]{0,100}》|«[^»\n]{0,400}»|^[ ]{0,3}>[^\n]*",
    re.DOTALL | re.MULTILINE,
)


def said_unknown(text: str) -> str:
    """The sentence, cut to a short quote, in which `text` says that its author does not know; "" where it does not."""
    text = text[:LONGEST_LOOKED_AT]
    own = QUOTED.sub(lambda match: " " * len(match[0]), text)
    for start, sentence in islice(_sentences(own), MOST_SENTENCES):
        if any(_says(words, sentence) for words in TABLE):
            quote = text[start : start + len(sentence)]
            return quote if len(quote) <= LONGEST_QUOTE else quote[: LONGEST_QUOTE - 1] + "…"
    return ""


def _sentences(text: str) -> Iterator[tuple[int, str]]:
    """Where each sentence starts, and the sentence without the space around it."""
    for match in SENTENCE.finditer(text):
        sentence = match[0].strip()
        if sentence:
            yield match.start() + len(match[0]) - len(match[0].lstrip()), sentence


def _says(words: Words, sentence: str) -> bool:
    return any(
        not words.not_before.search(sentence[: match.start()]) and not words.not_after.match(sentence, match.end())
        for match in words.says.finditer(sentence)
    )
