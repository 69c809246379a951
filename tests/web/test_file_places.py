"""Where a fault of a file is, in the reader's language."""

import pytest
from django.utils.translation import override

from reflection_app.core.file_places import place_in_words


@pytest.mark.parametrize("place", ["line 3", "row 7", "page 2", "slide 4", "line 3 $.sales", "Sales!B2", "a/b.csv", ""])
def test_places_are_told_as_they_were_found(place: str) -> None:
    with override("en"):
        assert place_in_words(place).replace(",", "") == place
