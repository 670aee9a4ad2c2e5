"""Rules about a run as a whole: what is kept and goes on from a checkpoint, ranks, what is measured and selected."""
