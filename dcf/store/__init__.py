"""Redis: keys, the one transaction loop, streams, and the embedded server. Nothing else imports `redis`."""
