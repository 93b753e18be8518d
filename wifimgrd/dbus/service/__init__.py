"""The service side: one module per exported interface."""
