"""The words of every border."""
