"""Reports of a fault, without data that strangers must not see."""
