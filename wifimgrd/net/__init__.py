"""An address for each camera, in the kernel's tables: the helper that may touch them, and its client."""
