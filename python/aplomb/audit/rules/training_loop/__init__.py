"""Rules about the loop that trains: order of a step, train() and eval(), formats, what is done once or too often."""
