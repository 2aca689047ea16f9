"""The verbs of the API: each reads its request, changes or reads objects, and answers."""
