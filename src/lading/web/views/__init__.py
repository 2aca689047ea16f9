"""Pure functions that turn objects into the values of the page. Reasons come from the features."""
