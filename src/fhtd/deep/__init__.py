"""Deep fixed-horizon agents in JAX: DFHQ, and DQN from the same parts."""

from fhtd.deep.agent import DFHQ, DQN
from fhtd.deep.backup import Backup
from fhtd.deep.settings import Settings

__all__ = ["DFHQ", "DQN", "Backup", "Settings"]
