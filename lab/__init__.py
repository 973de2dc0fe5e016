"""A fault lab: random workflows on real servers and processes, faults that strike them, and a checker of what came out.

It uses dcf from outside and is not shipped with it. `python -m lab` is its command; `lab/README.md` says how to use it.
"""
