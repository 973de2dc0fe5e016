"""Turns skills and stub tools, as people write them, into the manifests and the stub configuration that dcf uses.

Three kinds of sources (CSV tables, YAML files, Agent Skills folders) are read into the same records; the output depends
on the records alone. If there is any problem, all of them are reported and nothing is written.
"""
