"""What cameras are spoken to in, over their networks: bytes in, bytes out, no I/O and no clock."""
