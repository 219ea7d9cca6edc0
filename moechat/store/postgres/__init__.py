"""The store over PostgreSQL, for many users: the same verbs over tables that an owner's id leads."""
