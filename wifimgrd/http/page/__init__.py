"""The page for people; `frontend/` has its source, and `tools/set-up` builds it into `built/`."""
