"""Redis Cluster: the same commands over many nodes."""
