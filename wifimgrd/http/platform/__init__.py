"""What exists only because of the platform's frontend: the order and times of messages, and its dialect."""
