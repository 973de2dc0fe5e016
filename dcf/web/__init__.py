"""The web page of a control plane: HTML made by this process from what the runs' readers say.

It shows what is stored and changes nothing. It knows neither Redis nor the rules of runs: `dcf.runs` reads for it.
"""
