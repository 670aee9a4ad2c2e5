"""Rules about programs that a framework trains, about adapters, and what their arguments do."""
