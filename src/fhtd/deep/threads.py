"""How many threads JAX may use on the CPU."""

import os

import jax


def use_one_thread() -> None:
    """Compute on the calling thread alone, which is fastest for small networks.

    To be called before JAX computes anything. `XLA_FLAGS` and `NPROC` of the user's own are left
    as they are.

    >>> from fhtd.deep import use_one_thread
    >>> use_one_thread()  # at the top of a script
    """
    # The flags alone still leave a pool of threads that small products are handed to.
    os.environ.setdefault("NPROC", "1")
    os.environ.setdefault(
        "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    )
    # Handing work to another thread and waiting for it costs as much as a small network's layer.
    jax.config.update("jax_cpu_enable_async_dispatch", False)  # type: ignore[no-untyped-call]
