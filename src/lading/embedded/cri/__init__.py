"""The embedded CRI image service: a gRPC server that pulls, stores and removes images.

It runs no containers. It stores images by image and runtime handler; each handler has the platform
of its guests.
"""
