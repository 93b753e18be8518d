"""Who may use the API: hosts, origins, tokens."""
