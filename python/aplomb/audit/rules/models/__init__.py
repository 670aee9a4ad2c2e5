"""Rules about networks: modules and how they begin, axes, masks, depth, heads of detectors."""
