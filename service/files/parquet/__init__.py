"""Parquet files. Its modules need pyarrow, which the extra `parquet` installs: see ``load``."""
