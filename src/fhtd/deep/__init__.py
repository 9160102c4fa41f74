"""Deep fixed-horizon learning in JAX: DFHQ, FHSAC, their baselines DQN and SAC, and DFHTD."""

try:
    from fhtd.deep.agent import Agent
    from fhtd.deep.agents.dfhq import DFHQ, DFHQSettings
    from fhtd.deep.agents.dfhtd import DFHTD, DFHTDSettings
    from fhtd.deep.agents.dqn import DQN, DQNSettings
    from fhtd.deep.agents.fhsac import FHSAC, FHSACSettings
    from fhtd.deep.agents.sac import SAC, SACSettings
    from fhtd.deep.algorithm import Algorithm
    from fhtd.deep.backup import Backup
    from fhtd.deep.settings import ReplaySettings, Settings
    from fhtd.deep.threads import use_one_thread
except ModuleNotFoundError as error:
    if error.name not in ("jax", "equinox", "optax"):
        raise
    message = f"{error.name} is not installed: pip install 'fhtd[deep]'"
    raise ModuleNotFoundError(message, name=error.name) from None

__all__ = [
    "DFHQ",
    "DFHTD",
    "DQN",
    "FHSAC",
    "SAC",
    "Agent",
    "Algorithm",
    "Backup",
    "DFHQSettings",
    "DFHTDSettings",
    "DQNSettings",
    "FHSACSettings",
    "ReplaySettings",
    "SACSettings",
    "Settings",
    "use_one_thread",
]
