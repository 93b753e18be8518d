"""A world of adapters and cameras in memory, for the demo, the fast tests and the benchmarks."""
