"""Test scripts as people write them: read, refused where they cannot be run, and brought into one plain form.

Pure: nothing of a script is executed here.
"""
