"""Test scripts as people write them: parse, refuse what cannot run, and convert to one plain form.

Pure: nothing of a script is executed here.
"""
