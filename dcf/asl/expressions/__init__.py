"""Evaluates Choice rules, paths, templates and intrinsic functions, within counted steps. Pure."""
