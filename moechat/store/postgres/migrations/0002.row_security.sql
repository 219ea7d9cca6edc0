-- The second wall: a connection that has not named its owner sees nothing, unless it owns the tables.
-- depends: 0001.tables

DO $$
DECLARE
    owned text;
BEGIN
    FOREACH owned IN ARRAY ARRAY['owners', 'lines', 'replies', 'pieces', 'exchanges', 'notes', 'episodes', 'episode_sources',
        'facts', 'vectors'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', owned);
        EXECUTE format('CREATE POLICY of_owner ON %I USING (owner_id = '
            'nullif(current_setting(''moechat.owner'', true), '''')::uuid)', owned);
    END LOOP;
END $$;
