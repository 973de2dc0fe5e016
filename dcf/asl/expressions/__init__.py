"""What Choice rules, paths, templates and intrinsic functions evaluate to, within counted steps. Pure."""
