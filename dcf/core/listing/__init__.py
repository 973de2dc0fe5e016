"""Listing."""
