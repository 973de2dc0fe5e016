"""Tests of the pages for people: links, lengths, code blocks, names, decisions, reference."""
