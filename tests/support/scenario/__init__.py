"""A scenario: for each verb arguments that exist, so that every interface can be called with the same ones."""
