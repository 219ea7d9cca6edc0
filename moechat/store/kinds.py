"""The kinds of store that one owner's durable truth has: files, and tables alone (in memory, in PostgreSQL)."""

from moechat.store.files import FileStore
from moechat.store.table_store import TableStore

Store = FileStore | TableStore
"""Whatever stands above this room reaches an owner's truth through what both have, and in no other way."""
