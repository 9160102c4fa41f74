"""Many runs, kept and counted once: experiments, the store, executors, the cluster, summaries."""
