"""What answers have in common: outcomes, next calls, guidance, pages."""
