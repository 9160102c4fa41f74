"""Gymnasium environments; importing this package registers the ids that begin with `fhtd/`."""

from fhtd.envs.finite import FiniteMDPEnv
from fhtd.envs.registration import IDS, register

register()

__all__ = ["IDS", "FiniteMDPEnv", "register"]
