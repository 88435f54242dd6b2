"""Published models, the pointers to those that serve, and the weights of their mixture."""
