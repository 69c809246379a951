"""Files that agents have produced, opened in the sandbox. The sole importer of the libraries that read them.

Nothing of a file is parsed outside: each is opened by a process of its own, without network and within bounds, which
answers with JSON or with a drawn page; what it says is validated, and believed of no other file.
"""

from reflection_app.adapters.files.drawing import FileNotOpened, render_page
from reflection_app.adapters.files.inspecting import Produced, inspect_files

__all__ = ["FileNotOpened", "Produced", "inspect_files", "render_page"]
