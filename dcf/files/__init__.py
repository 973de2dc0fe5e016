"""Files below configured directories, reached step by step and never through a link. Knows no run and no store."""
