"""What people type: one module for each group of commands."""
