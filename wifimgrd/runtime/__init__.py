"""What every process uses to run: tasks, the log, systemd, hardening.

Tasks that are kept running with the watchdog over them, the journal's protocol and the events of which few
a minute are written, notifications to systemd, the task dump, streams. It knows nothing of cameras.

Used by: `camera`, `cli`, `client`, `daemon`, `helper`, `http`, `kernel`, `mqtt`, `simulator`, `wire`.
Imports: nothing of the hub.
"""
