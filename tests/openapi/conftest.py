"""The programs that use generated clients are no modules of tests."""

collect_ignore = ["use_client.py"]
