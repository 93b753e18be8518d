"""Other services on the message bus as typed proxies, without any policy: one package for each service."""
