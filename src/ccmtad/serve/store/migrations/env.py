"""What Alembic runs: the missing steps, on the connection it is given."""

from alembic import context

from ccmtad.serve.store.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()
