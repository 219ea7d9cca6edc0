#!/bin/sh
# The program's role: it owns no table, so that row-level security holds for it.
psql -v ON_ERROR_STOP=1 -v password="$PROGRAM_PASSWORD" -U "$POSTGRES_USER" -d "$POSTGRES_DB" <<'SQL'
CREATE ROLE moechat LOGIN PASSWORD :'password';
ALTER DEFAULT PRIVILEGES GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO moechat;
SQL
