"""The code that runs inside the sandbox. It may import a few modules of the standard library and nothing else.

It is compiled outside and handed in with the job on standard input, so that no file of it lies where a candidate
could read it. `harness` is process 1 and forks a child per test; `child`, `script` and `encode` run in these
children, in the candidate's company, after having taken hold of every function that they need.
"""
