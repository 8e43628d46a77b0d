"""Palette extraction service."""
