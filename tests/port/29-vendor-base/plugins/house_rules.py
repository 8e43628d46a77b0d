def register():
    """Called by vLLM at start."""
