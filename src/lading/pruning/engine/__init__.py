"""The prune engine: references, inventory, graph, rules, plan, apply and trash."""
