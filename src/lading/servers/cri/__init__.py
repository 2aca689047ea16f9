"""The embedded CRI image service: a real gRPC server that pulls, keeps and removes images.

It runs no containers. Images are kept by (image, runtime handler), each handler with the platform
of its guests.
"""
