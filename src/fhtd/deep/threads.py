"""How many threads JAX may use on the CPU."""

import os

import jax


def use_one_thread() -> None:
    """Compute on the calling thread alone, which is fastest for small networks.

    To be called before JAX computes anything. `XLA_FLAGS` of the user's own are left as they are.
    """
    os.environ.setdefault(
        "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    )
    # Handing work to another thread and waiting for it costs as much as a small network's layer.
    jax.config.update("jax_cpu_enable_async_dispatch", False)  # type: ignore[no-untyped-call]
