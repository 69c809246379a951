class EmbeddedEngineError(Exception):
    """An embedded engine cannot run here; the message is one line that says what to do."""
