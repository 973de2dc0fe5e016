"""Skills and stub tools as people write them, turned into the manifests and the stub configuration that dcf uses.

Three kinds of sources (CSV tables, YAML files, Agent Skills folders) are read into the same records; what is generated
depends on the records alone. With anything wrong, all of it is reported and nothing is written.
"""
