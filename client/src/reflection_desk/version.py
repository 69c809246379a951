"""Version of the client, independent of the server's version."""

__version__ = "0.3.0"
USER_AGENT = f"reflection-desk-client/{__version__}"
