"""What every process of the hub needs of its surroundings, whatever it does."""
