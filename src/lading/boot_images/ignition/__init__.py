"""The ignition stub of a machine set: what it is, what it becomes, and why it cannot. Pure."""
