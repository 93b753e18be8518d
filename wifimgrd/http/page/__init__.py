"""The page that people look at; `frontend/` has its source, and `tools/set-up` builds it into `built/`."""
