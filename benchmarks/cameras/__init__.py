"""Commands to many emulated cameras and their state, through the product's processes as they are."""
