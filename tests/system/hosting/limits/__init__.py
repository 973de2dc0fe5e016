"""Tests of the usage limits of providers, as their SDKs report them."""
