"""Rules about what is minimised: its terms and signs, its labels, its graph, and the arithmetic in it."""
