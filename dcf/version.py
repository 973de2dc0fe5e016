"""The version of dcf, in a module of its own: who needs it does not import the public names of `dcf`."""

__version__ = "0.1.0"
