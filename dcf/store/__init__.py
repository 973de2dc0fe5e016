"""Access to Redis: keys, the transaction loop, streams, the embedded server. No other package imports `redis`."""
