"""Orders without a recipe: they train what is worth training, of all families or of one."""
