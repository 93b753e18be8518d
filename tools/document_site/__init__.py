"""The documents as a site: `tools/build_site.py` has MkDocs build it, in the theme that is here.

- `pages.py`: which documents are pages of it, and their Markdown as MkDocs takes it
- `search.py`: the index that the search reads
- `colours.py`: the colours of the hub's page, whose style sheet has them
- `check.py`: each link, anchor and picture is there, and nothing is inline
- `mkdocs.yml`: the order of the pages; `theme/`: how they look, and their search field

It needs only Python's standard library, and the program `mkdocs` of Debian 12 or newer.
"""
