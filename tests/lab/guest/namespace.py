"""Network namespaces, and the programs that run in them: each camera is a small machine of its own."""

import signal
import subprocess
from pathlib import Path

NAMESPACES = Path("/run/netns")


class CommandError(RuntimeError):
    """A command failed; the message holds its output."""


def run(*command: str) -> str:
    """Run a command to its end and return what it printed."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        raise CommandError(f"{' '.join(command)}: status {done.returncode}: {done.stdout.strip()}")
    return done.stdout


class Namespace:
    """A network namespace with the programs that were started in it."""

    def __init__(self, name: str, logs: Path) -> None:
        self.name = name
        self._logs = logs  # <program>.log
        self._programs: dict[str, subprocess.Popen[bytes]] = {}

    @property
    def exists(self) -> bool:
        """Whether the kernel has it."""
        return Path(NAMESPACES, self.name).exists()

    def create(self) -> None:
        """Make it, with a loopback interface that is up."""
        run("ip", "netns", "add", self.name)
        self.run("ip", "link", "set", "lo", "up")

    def delete(self) -> None:
        """End its programs and remove it."""
        for program in list(self._programs):
            self.end(program, signal.SIGKILL)
        if self.exists:
            run("ip", "netns", "del", self.name)

    def run(self, *command: str) -> str:
        """Run a command inside to its end and return what it printed."""
        return run("ip", "netns", "exec", self.name, *command)

    def start(self, *command: str, known_as: str = "") -> None:
        """Start a program inside, known from now on by its first word or another; its log begins anew."""
        program = known_as or command[0]
        with self.log_of(program).open("wb") as log:
            self._programs[program] = subprocess.Popen(
                ("ip", "netns", "exec", self.name, *command),  # "ip" becomes the command: same process
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def end(self, program: str, by: signal.Signals = signal.SIGTERM) -> None:
        """End a program, if it runs, and wait until it has gone."""
        process = self._programs.pop(program, None)
        if process is not None:
            process.send_signal(by)
            process.wait(10)

    def runs(self, program: str) -> bool:
        """Whether a program that was started inside still runs."""
        process = self._programs.get(program)
        return process is not None and process.poll() is None

    def log_of(self, program: str) -> Path:
        """Where a program's output goes."""
        return Path(self._logs, f"{program}.log")
