"""The parts that every process uses to run: tasks, the log, systemd, hardening.

A process's start and stop, tasks that are kept running with the watchdog over them, the journal's protocol
and the limit of repeated log lines, clocks, notifications to systemd, the task dump, streams, files that
survive a power failure, the beginning of HTTP answers, and the addresses that this host uses.

Used by: `camera`, `cli`, `client`, `config`, `daemon`, `helper`, `http`, `kernel`, `mavlink`, `mqtt`,
`simulator`, `wire`.
Imports: nothing of the hub.
"""
