"""The commands that documents print for a hub with real cameras."""

from tests.docs.code_blocks import blocks_at
from tests.docs.terminal import Terminal


def type_block(document: str, words: str, instead: str = "") -> None:
    """Type the block of a document's commands that has these words, or others instead of them."""
    [block] = [one for one in blocks_at("lab")[document] if words in one.text]
    with Terminal() as terminal:
        terminal.run(block, {words: instead or words})
