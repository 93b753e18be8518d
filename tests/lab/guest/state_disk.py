"""A disk of its own for the daemon's state, which turns read-only under it as one with errors does."""

from pathlib import Path

from .namespace import run
from .whole_hub import STATE

_IMAGE = Path("/var/tmp/state.ext4")
_SIZE_BYTES = 32 * 2**20


class StateDisk:
    """An ext4 file system on a loop device, mounted where the state is."""

    def __init__(self) -> None:
        with _IMAGE.open("wb") as image:
            image.truncate(_SIZE_BYTES)
        run("mke2fs", "-q", "-F", "-t", "ext4", str(_IMAGE))
        STATE.mkdir(mode=0o700, exist_ok=True)

    def mount(self) -> None:
        """As Debian mounts disks."""
        run("mount", "-o", "loop,errors=remount-ro", str(_IMAGE), str(STATE))

    def unmount(self) -> None:
        """Nobody may use it."""
        run("umount", str(STATE))

    def fail(self) -> None:
        """Have ext4 find an error: it is read-only from then on, also for who has files open for writing.

        https://docs.kernel.org/admin-guide/ext4.html (errors=remount-ro)
        https://www.kernel.org/doc/Documentation/ABI/testing/sysfs-fs-ext4 (trigger_fs_error)
        """
        device = Path(run("findmnt", "-no", "SOURCE", str(STATE)).strip()).name
        Path(f"/sys/fs/ext4/{device}/trigger_fs_error").write_text("a test")

    def repair(self) -> None:
        """What a person does with it, while nobody uses it."""
        self.unmount()
        run("sh", "-c", f"e2fsck -f -y {_IMAGE} || [ $? -eq 1 ]")  # 1: errors, and they are corrected
        self.mount()

    def remove(self) -> None:
        """Unmount it, and forget it."""
        self.unmount()
        _IMAGE.unlink()
