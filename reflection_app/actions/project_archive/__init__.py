"""A whole project as one file, and a new project from such a file: a zip of JSON lines, one file a table."""
