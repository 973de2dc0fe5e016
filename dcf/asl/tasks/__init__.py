"""Tasks that wait for signals and other things outside of dcf. Pure."""
