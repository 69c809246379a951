"""How long tests wait for what has to come. Only what never comes takes as long: a busy machine is waited for."""

PATIENCE_S = 300.0
