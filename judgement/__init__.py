"""What the desk judges by meaning: small classifiers over the vectors of the model that ships with it. Pure.

One module a question; `weights/` is what was learned, `data/` and `training/` are how (`manage.py train_judgement`),
`CARDS.md` says how well each does. Vectors are made by whoever has the model.
"""
