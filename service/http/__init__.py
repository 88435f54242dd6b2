"""HTTP without any route: what arrives, what is refused, how errors and pages look."""
