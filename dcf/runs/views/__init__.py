"""How runs stand, for every face. Never writes."""
