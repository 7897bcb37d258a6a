# Recall of four pairs at a quarter to 16 times the trained length, by the models of reach.
tasks = mqar
include experiments/reach/plan.mk
