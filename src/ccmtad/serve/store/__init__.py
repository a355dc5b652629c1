"""What the service keeps: the log of rows first, then what came of them. SQLite by default, PostgreSQL by URL."""
