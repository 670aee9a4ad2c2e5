"""Rules about what moves the weights: optimizers, schedules, what is frozen, averages of weights."""
