"""What of the notebook goes into a prompt, and the boundary around it."""

from notebook_app.boundary import Told, bounded, new_boundary, without_notebook

__all__ = ["Told", "bounded", "new_boundary", "without_notebook"]
