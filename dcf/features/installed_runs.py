"""Installs what capabilities offer to processes that carry out runs. Importing it installs them.

Every process that reads or writes runs, or delivers notifications, imports this module before its first call.
"""

from dcf.features.installed import offers
from dcf.features.usage.bill_storage import BILLS, BillOffer
from dcf.runs.offers import RunOffer, install

install(offers("run_offers", RunOffer))
BILLS.install(offers("billing_operations", BillOffer))
