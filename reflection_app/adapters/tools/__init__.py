"""Calling the tools of a project."""

from reflection_app.adapters.tools.calling import call_on_files, call_tool

__all__ = ["call_on_files", "call_tool"]
