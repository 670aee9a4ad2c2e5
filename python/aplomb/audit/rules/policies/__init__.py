"""Rules about what is learnt from rewards and preferences."""
