# Copies at a quarter to 16 times the trained length, by the models of reach.
tasks = copy
include experiments/reach/plan.mk
