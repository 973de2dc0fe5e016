"""What runs belong to, and what keys are bound to."""
