"""What several tests use. On the import path of every test (pyproject.toml)."""
