"""What really joins networks: one package per way of doing it."""
