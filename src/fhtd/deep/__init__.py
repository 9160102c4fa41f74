"""Deep fixed-horizon learning in JAX: DFHQ, DQN from the same parts, and DFHTD."""

from importlib.util import find_spec

for _library in ("jax", "equinox", "optax"):
    if find_spec(_library) is None:
        raise ModuleNotFoundError(
            f"{_library} is not installed: pip install 'fhtd[deep]'", name=_library
        )

from fhtd.deep.agent import Agent
from fhtd.deep.agents.dfhq import DFHQ, DFHQSettings
from fhtd.deep.agents.dfhtd import DFHTD, DFHTDSettings
from fhtd.deep.agents.dqn import DQN, DQNSettings
from fhtd.deep.algorithm import Algorithm
from fhtd.deep.backup import Backup
from fhtd.deep.settings import ReplaySettings, Settings
from fhtd.deep.threads import use_one_thread

__all__ = [
    "DFHQ",
    "DFHTD",
    "DQN",
    "Agent",
    "Algorithm",
    "Backup",
    "DFHQSettings",
    "DFHTDSettings",
    "DQNSettings",
    "ReplaySettings",
    "Settings",
    "use_one_thread",
]
