"""The common parts of answers: outcomes, next calls, guidance, pages."""
