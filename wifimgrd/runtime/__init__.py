"""What every process of the hub uses: logging, the journal, systemd, supervised tasks, hardening."""
