"""Which attempt to keep when only tests that a model wrote can judge it.

Such tests are suspects: on recorded runs, failing one or two of five says nothing about an answer, and failing most of
them is wrong about half the time. `suspect_tests` reads them and the prompt, `weighing` decides. Pure, like all loops.
"""
