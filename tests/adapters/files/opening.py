"""One file, inspected by itself."""

import hashlib
import json
from typing import Any

from reflection_app.adapters.files import Produced, inspect_files
from reflection_app.adapters.files.inside import look
from reflection_app.loops.completeness.files import FaultCode, FileFacts, FileRequirement


def produced(name: str, content: bytes | None) -> Produced:
    """A file of this name; nobody may open it where it has no content."""
    held = content or b""
    return Produced(name, content, len(held), hashlib.sha256(held).hexdigest())


def inspect_file(content: bytes, *, name: str, each_s: float = 10.0, **asked: Any) -> FileFacts:
    """Return the facts of one file; `asked` is what a task requires of it."""
    required = [FileRequirement.model_validate({"path": name} | asked)] if asked else []
    (facts,) = inspect_files([produced(name, content)], required, each_s=each_s, deadline_s=each_s * 3 + 1).files
    return facts


def inspect_here(content: bytes, *, name: str, **asked: Any) -> FileFacts:
    """Return the facts of a file that is opened in this process, by the code that opens it in the sandbox."""
    required = [FileRequirement.model_validate({"path": name} | asked)] if asked else []
    dumped = [one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in required]
    told = json.loads(look.inspect({"name": name, "content": content, "asked": dumped, "time_s": 60.0}))
    return FileFacts(name=name, **told)


def codes(facts: FileFacts) -> set[FaultCode]:
    return {one.code for one in facts.faults}
