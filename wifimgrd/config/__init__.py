"""What is configured."""
