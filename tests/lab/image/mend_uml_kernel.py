"""mend_uml_kernel.py LINUX_UML: mend a prebuilt UML kernel that hangs now and then, in machine code.

uml.patch has the same changes in the source, and says why. A kernel without these instructions is left as
it is.
"""

import sys
from pathlib import Path

# What stands there once, and what is to stand there.
EDITS = (
    # flush_tlb_kernel_range_common(): a page that is present is mapped (jmp), not unmapped first.
    ("a811 7404 a802 7459 488d5598 be00100000", "a811 7404 a802 eb31 488d5598 be00100000"),
    # to_irq_stack() and from_irq_stack(): 8 words of thread_info are copied, not 0xc08.
    ("b9080c0000 4c8b5b08 4c89de f3a5", "b908000000 4c8b5b08 4c89de f3a5"),
    ("b9080c0000 488b00 4c894008 31c0 48894618 f3a5", "b908000000 488b00 4c894008 31c0 48894618 f3a5"),
)


def main(kernel: Path) -> None:
    """Mend the kernel in place: all of it or nothing."""
    code = kernel.read_bytes()
    edits = [(bytes.fromhex(old), bytes.fromhex(new)) for old, new in EDITS]
    if all(code.count(old) == 1 for old, _ in edits):
        for old, new in edits:
            code = code.replace(old, new)
        kernel.write_bytes(code)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
