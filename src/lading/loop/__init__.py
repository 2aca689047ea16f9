"""What runs a feature's reconcile pipeline: informers, work queues, controllers, election, events.

It knows nothing of any feature. Time, rng and the API server come in through ports.
"""
