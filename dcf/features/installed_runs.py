"""Installs what capabilities offer to processes that carry out runs. Importing it installs them.

Every process that reads or writes runs, or delivers notifications, imports this module before its first call.
"""

from dcf.features.installed import offers
from dcf.runs.offers import RunOffer, install

install(offers("run_offers", RunOffer))
