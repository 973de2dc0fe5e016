"""Installs what capabilities offer to the language. Importing it installs them.

Every process that reads a workflow imports this module before. It is light: nothing here decides on runs.
"""

from dcf.asl.tasks.extensions import LANGUAGE, LanguageOffer
from dcf.features.installed import offers

LANGUAGE.install(offers("syntax", LanguageOffer))
