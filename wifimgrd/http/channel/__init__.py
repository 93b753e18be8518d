"""The management channel: numbered messages over WebSocket and Server-Sent Events."""
