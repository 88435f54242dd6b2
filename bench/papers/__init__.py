"""The five papers, table by table: what each has, what we measure, and whether they agree."""
