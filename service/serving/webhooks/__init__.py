"""Webhooks: what happens is looked at, queued, signed and sent, by one api process for all."""
