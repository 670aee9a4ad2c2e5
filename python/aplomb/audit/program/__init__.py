"""The model of a program: what its names hold, what its losses compute, and what it does in which order."""
