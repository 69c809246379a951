"""A file that came under the conversation's own name is found beside it, and takes no other file's place."""

from reflection_app.loops.after.looking_back import SESSION_FILE
from reflection_app.sessions.looked_back_at import beside_the_session


def test_no_file_takes_the_place_of_another() -> None:
    files = {SESSION_FILE: "one", f"handed_in/{SESSION_FILE}": "two", "a.txt": "three"}
    kept = beside_the_session(files)
    assert SESSION_FILE not in kept
    assert sorted(kept.values()) == ["one", "three", "two"]
    assert kept[f"handed_in/{SESSION_FILE}"] == "two"
    assert beside_the_session({"a.txt": ""}) == {"a.txt": ""}
