"""What runs a feature's corridor: informers, work queues, controllers, election, events.

It knows nothing of any feature. Time, chance and the API server come in through ports.
"""
