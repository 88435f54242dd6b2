"""The documentation as a site: ``make site`` builds it with Zensical into build/site."""
