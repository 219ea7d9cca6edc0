-- Every table but this one's own record of migrations belongs to owners: owner_id leads each key, so that
-- create_distributed_table(table, 'owner_id') distributes them together (docs/many-users.md).
CREATE EXTENSION IF NOT EXISTS vector;

-- generation rises under this row's lock, and so do the numbers of rows. heads: journal -> [epoch, entries].
CREATE TABLE owners (
    owner_id uuid PRIMARY KEY,
    "character" text NOT NULL,
    "user" text NOT NULL,
    world text NOT NULL,
    identity text NOT NULL,
    generation bigint NOT NULL DEFAULT 0,
    facts bigint NOT NULL DEFAULT 0,
    replaces bigint NOT NULL DEFAULT 0,
    vectors bigint NOT NULL DEFAULT 0,
    exchange_rows bigint NOT NULL DEFAULT 0,
    episode_rows bigint NOT NULL DEFAULT 0,
    note_rows bigint NOT NULL DEFAULT 0,
    heads jsonb NOT NULL DEFAULT '{}',
    manifest jsonb NOT NULL DEFAULT '{}',
    swept text NOT NULL DEFAULT ''
);

-- The log and whatever else is appended and read again; an epoch begins when a journal is replaced as a whole.
CREATE TABLE lines (
    owner_id uuid NOT NULL,
    journal text NOT NULL,
    epoch bigint NOT NULL,
    n bigint NOT NULL,
    entry text NOT NULL,
    PRIMARY KEY (owner_id, journal, epoch, n)
);

-- Replies on their way; worker is the number whose lock its process holds.
CREATE TABLE replies (
    owner_id uuid NOT NULL,
    id text NOT NULL,
    worker bigint,
    ids text NOT NULL DEFAULT '[]',
    key text NOT NULL DEFAULT '',
    entry text,
    withheld boolean NOT NULL DEFAULT false,
    PRIMARY KEY (owner_id, id)
);
CREATE TABLE pieces (
    owner_id uuid NOT NULL,
    id text NOT NULL,
    n bigint NOT NULL,
    piece text NOT NULL,
    PRIMARY KEY (owner_id, id, n)
);

-- What was said. A dead row keeps its number and time, no words.
CREATE TABLE exchanges (
    owner_id uuid NOT NULL,
    row bigint NOT NULL,
    id text NOT NULL,
    t double precision NOT NULL,
    at text NOT NULL,
    sent text NOT NULL,
    heard text NOT NULL,
    lines text NOT NULL,
    status text NOT NULL,
    extra text NOT NULL,
    sha text NOT NULL,
    gen bigint NOT NULL,
    alive boolean NOT NULL DEFAULT true,
    PRIMARY KEY (owner_id, row)
);
CREATE UNIQUE INDEX exchanges_id ON exchanges (owner_id, id) WHERE alive;
CREATE INDEX exchanges_t ON exchanges (owner_id, t) WHERE alive;
CREATE INDEX exchanges_gen ON exchanges (owner_id, gen);

-- What an exchange is about. nr is the order in which notes came, episodes a list of ids.
CREATE TABLE notes (
    owner_id uuid NOT NULL,
    id text NOT NULL,
    nr bigint NOT NULL,
    place text NOT NULL,
    tag text NOT NULL,
    keywords text NOT NULL,
    by text NOT NULL,
    episodes text NOT NULL,
    PRIMARY KEY (owner_id, id)
);

CREATE TABLE episodes (
    owner_id uuid NOT NULL,
    row bigint NOT NULL,
    id text NOT NULL,
    note text NOT NULL,
    t double precision NOT NULL,
    starts double precision,
    ends double precision,
    kind text NOT NULL,
    by text NOT NULL,
    confirmed boolean,
    data text NOT NULL,
    words text NOT NULL,
    keywords text NOT NULL,
    replaces boolean NOT NULL,
    evidence boolean NOT NULL,
    gen bigint NOT NULL,
    alive boolean NOT NULL DEFAULT true,
    PRIMARY KEY (owner_id, row)
);
CREATE UNIQUE INDEX episodes_id ON episodes (owner_id, id) WHERE alive;
CREATE INDEX episodes_gen ON episodes (owner_id, gen);
CREATE INDEX episodes_starts ON episodes (owner_id, starts) WHERE alive;
CREATE INDEX episodes_replaces ON episodes (owner_id, row) WHERE alive AND replaces;

CREATE TABLE episode_sources (
    owner_id uuid NOT NULL,
    source text NOT NULL,
    row bigint NOT NULL,
    PRIMARY KEY (owner_id, source, row)
);
CREATE INDEX episode_sources_row ON episode_sources (owner_id, row);

CREATE TABLE facts (
    owner_id uuid NOT NULL,
    id text NOT NULL,
    data text NOT NULL,
    PRIMARY KEY (owner_id, id)
);

-- space is the fingerprint of an embedding model, key the hash of the text; an empty key: nothing is stored there any more.
CREATE TABLE vectors (
    owner_id uuid NOT NULL,
    space text NOT NULL,
    layer text NOT NULL,
    position bigint NOT NULL,
    key bytea NOT NULL,
    vector vector,
    gen bigint NOT NULL,
    PRIMARY KEY (owner_id, space, layer, position)
);
CREATE INDEX vectors_gen ON vectors (owner_id, space, layer, gen);
