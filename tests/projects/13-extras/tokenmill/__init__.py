"""Batch generation."""
