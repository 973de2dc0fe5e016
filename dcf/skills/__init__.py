"""Skill manifests: their form, where they are found, what they may do. Reads files; knows no store and no platform."""
