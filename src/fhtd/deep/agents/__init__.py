"""The agents, one file each."""
