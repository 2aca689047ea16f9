"""Objects -> what the page shows of them. Pure functions; each reason comes from its feature."""
