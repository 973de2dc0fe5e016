"""The class with a method for each verb, made of `methods.json`. Its signatures are in `methods.pyi`."""

from dcf.client.methods import verb_methods

VerbMethods = verb_methods()
