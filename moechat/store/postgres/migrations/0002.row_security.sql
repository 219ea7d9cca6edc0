-- The second wall: a connection that has not named its owner sees nothing, unless it owns the tables.
-- depends: 0001.tables

ALTER TABLE owners ENABLE ROW LEVEL SECURITY;
CREATE POLICY of_owner ON owners USING (owner_id = nullif(current_setting('moechat.owner', true), '')::uuid);
ALTER TABLE lines ENABLE ROW LEVEL SECURITY;
CREATE POLICY of_owner ON lines USING (owner_id = nullif(current_setting('moechat.owner', true), '')::uuid);
ALTER TABLE replies ENABLE ROW LEVEL SECURITY;
CREATE POLICY of_owner ON replies USING (owner_id = nullif(current_setting('moechat.owner', true), '')::uuid);
ALTER TABLE pieces ENABLE ROW LEVEL SECURITY;
CREATE POLICY of_owner ON pieces USING (owner_id = nullif(current_setting('moechat.owner', true), '')::uuid);
ALTER TABLE exchanges ENABLE ROW LEVEL SECURITY;
CREATE POLICY of_owner ON exchanges USING (owner_id = nullif(current_setting('moechat.owner', true), '')::uuid);
ALTER TABLE notes ENABLE ROW LEVEL SECURITY;
CREATE POLICY of_owner ON notes USING (owner_id = nullif(current_setting('moechat.owner', true), '')::uuid);
ALTER TABLE episodes ENABLE ROW LEVEL SECURITY;
CREATE POLICY of_owner ON episodes USING (owner_id = nullif(current_setting('moechat.owner', true), '')::uuid);
ALTER TABLE episode_sources ENABLE ROW LEVEL SECURITY;
CREATE POLICY of_owner ON episode_sources USING (owner_id = nullif(current_setting('moechat.owner', true), '')::uuid);
ALTER TABLE facts ENABLE ROW LEVEL SECURITY;
CREATE POLICY of_owner ON facts USING (owner_id = nullif(current_setting('moechat.owner', true), '')::uuid);
ALTER TABLE vectors ENABLE ROW LEVEL SECURITY;
CREATE POLICY of_owner ON vectors USING (owner_id = nullif(current_setting('moechat.owner', true), '')::uuid);
