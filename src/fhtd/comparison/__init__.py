"""Any agents in any environments: arms in words, peers, aggregates, and the experiment of them."""
