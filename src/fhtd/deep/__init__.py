"""Deep fixed-horizon learning in JAX: DFHQ, DQN from the same parts, and DFHTD."""

from fhtd.deep.agents import DFHQ, DQN
from fhtd.deep.backup import Backup
from fhtd.deep.prediction import DFHTD
from fhtd.deep.settings import Settings
from fhtd.deep.threads import use_one_thread

__all__ = ["DFHQ", "DFHTD", "DQN", "Backup", "Settings", "use_one_thread"]
