"""The notebook's entries in the file forms of the design seeds and as JSON lines, read and written.

Names of files are read as names and nothing else: nothing that is handed in is ever written to a path.
"""
