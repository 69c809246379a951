"""Code that runs inside the sandbox. It imports a few modules of the standard library and nothing else.

It is compiled outside and passed with the job on standard input, so that the candidate cannot read it from a file.
`harness` is process 1 and forks a child per test. `child`, `script` and `encode` run in these children together with
the candidate, after saving references to all functions that they need.
"""
