-- Where an owner's memory lies, of several servers. No row: here. Else at the server that is named; a copy that arrives from there
-- is open when the server that it comes from names the same ticket.
-- depends: 0003.findings

CREATE TABLE places (
    owner_id uuid PRIMARY KEY,
    server text NOT NULL,
    ticket text NOT NULL DEFAULT '',
    arrives boolean NOT NULL DEFAULT false
);
ALTER TABLE places ENABLE ROW LEVEL SECURITY;
CREATE POLICY of_owner ON places USING (owner_id = nullif(current_setting('moechat.owner', true), '')::uuid);
