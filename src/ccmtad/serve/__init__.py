"""The live service: rows in over HTTP, events out. Imported on demand: it needs the `serve` extra."""
