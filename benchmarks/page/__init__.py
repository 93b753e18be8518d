"""The page: from an event on the bus to what a person sees."""
