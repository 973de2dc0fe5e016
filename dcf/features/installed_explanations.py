"""Installs what capabilities offer to diagnoses of runs. Importing it installs them.

Every process that explains runs imports this module before its first diagnosis.
"""

from dcf.features.diagnosis.extensions import EXPLANATIONS, ExplainOffer
from dcf.features.installed import offers

EXPLANATIONS.install(offers("explaining", ExplainOffer))
