"""What must be settled before NumPy and Numba are loaded."""

import hashlib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def _digest() -> str:
    sources = sorted((ROOT / "src/fhtd/online").rglob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]


ENVIRONMENT = {
    # One thread for NumPy's products of matrices, as for everyone else.
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    # Numba's disk cache looks only at the file of the outermost function: a change in a kernel
    # could meet a stale caller, and the old code would be timed.
    "NUMBA_CACHE_DIR": str(ROOT / ".numba_cache" / _digest()),
}
