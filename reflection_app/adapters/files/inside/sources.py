"""Source code: whether it can be parsed, where there is a parser for its language."""

import ast
import warnings

from reflection_app.adapters.files.inside.found import CannotLook, Found, line_place
from reflection_app.loops.completeness.file_codes import FaultCode

PYTHON = "text/x-python"
MAGIC_OF_NOTEBOOKS = ("%", "!")


def look_at_python(content: bytes, found: Found) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(content)
        except SyntaxError as error:
            found.fault(FaultCode.SYNTAX, place=line_place(error.lineno or 1), actual=error.msg)
        except ValueError as error:  # NUL
            found.fault(FaultCode.SYNTAX, actual=str(error))
        except (RecursionError, MemoryError):
            found.fault(FaultCode.UNFOLDS)


def look_at_source(content: bytes, found: Found) -> None:
    if found.media_type == PYTHON:
        look_at_python(content, found)
        return
    raise CannotLook(found.media_type)
