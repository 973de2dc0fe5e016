"""Skill manifests: format, lookup, and what they may do. Reads files; knows no store and no platform."""
