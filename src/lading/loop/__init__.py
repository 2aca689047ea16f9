"""Runs the reconcile pipelines of features: informers, queues, controllers, election, events.

It knows no feature. Time, randomness and the API server are passed in.
"""
