"""An answer as its minimum requirements see it."""

from typing import Any

from reflection_app.loops.chain_of_thought import work_in
from reflection_app.loops.data_answers import NoData, data_of
from reflection_app.loops.json_paths import Looks
from reflection_app.loops.requirements import Counted
from reflection_app.loops.text_counts import count_characters, count_lines, count_words

SIZES = {Counted.WORDS: count_words, Counted.CHARACTERS: count_characters, Counted.LINES: count_lines}

# Whether a requirement holds, what was found, and where in the data.
Found = tuple[bool, str, str]


class CheckedAnswer:
    """The answer's text, and its data or why there is none."""

    def __init__(self, answer: str, *, chain_of_thought: bool) -> None:
        self.text = work_in(answer) if chain_of_thought else answer
        self.data: Any = None
        self.no_data = ""
        try:
            self.data = data_of(answer, chain_of_thought=chain_of_thought)
        except NoData as error:
            self.no_data = f"no data: {error}"
        self.looks = Looks()
        self._sizes: dict[tuple[Counted, int], int] = {}

    def size(self, of: Counted, text: str | None = None) -> int:
        """The size of the whole text, or of a `text` in the data; counted once however many requirements ask for it."""
        counted = self.text if text is None else text
        # The data holds its texts as long as it is there itself, so that no other gets the identity of one of them.
        known = (of, id(counted))
        if known not in self._sizes:
            self._sizes[known] = SIZES[of](counted)
        return self._sizes[known]
