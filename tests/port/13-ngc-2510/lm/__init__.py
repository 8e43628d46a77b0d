"""Language model pretraining."""
