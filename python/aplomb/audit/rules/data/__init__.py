"""Rules about samples on their way to a batch: loading, splits, streams, tokens, and what reaches the model."""
