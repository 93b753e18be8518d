"""What the documentation says is so."""
