"""The web page of a control plane: HTML made by this process from what the runs' readers say.

It shows stored data and does not change it. It knows neither Redis nor the rules of runs: `dcf.runs` reads for it.
"""
