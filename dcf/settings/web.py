"""The settings of the web page: how long a log-in lasts. A part of `dcf.settings.process`."""

from pydantic import BaseModel, Field


class WebSettings(BaseModel):
    """The fields of `Settings` about the web page."""

    web_session_s: int = Field(default=12 * 3600, ge=1, le=30 * 24 * 3600)
    """seconds that a log-in at the web page lasts at most"""

    web_idle_s: int = Field(default=3600, ge=1, le=30 * 24 * 3600)
    """seconds after its last request at which a log-in ends"""
