"""Gymnasium environments; importing this package registers the ids that begin with `fhtd/`."""

from fhtd.environments import IDS, register
from fhtd.envs.finite import FiniteMDPEnv
from fhtd.envs.repeat import Repeat

register()

__all__ = ["IDS", "FiniteMDPEnv", "Repeat", "register"]
