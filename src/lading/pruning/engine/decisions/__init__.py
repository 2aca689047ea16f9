"""What stays and what goes, and why: rules, policy, plan. Nothing here reads or writes."""
