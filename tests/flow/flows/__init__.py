"""Flows whose runs are compared with their simulation and with Python."""
