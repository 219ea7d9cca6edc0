"""Every statement over the tables of owners. Each names its owner, so that it stays on one shard (a test reads them all).

A word is looked for in text whose ASCII letters are lowered, as SQLite does; ``plain_words`` says for which words that will do.
"""

from __future__ import annotations

# ---- all owners: the one statement that names none, for whoever owns the tables and moves memories

OWNERS = 'SELECT "character", "user", world FROM owners ORDER BY 1, 2, 3'

# ---- owners

KNOW = """INSERT INTO owners (owner_id, "character", "user", world, identity)
    VALUES (%(owner)s, %(character)s, %(user)s, %(world)s, %(identity)s) ON CONFLICT (owner_id) DO NOTHING"""
_PULSE = "identity, generation, facts, replaces, vectors, exchange_rows, episode_rows, note_rows, heads"
PULSE = f"SELECT {_PULSE} FROM owners WHERE owner_id = %(owner)s"
LOCK = f"SELECT {_PULSE} FROM owners WHERE owner_id = %(owner)s FOR UPDATE"
BEAT = """UPDATE owners SET generation = %(generation)s, facts = %(facts)s, replaces = %(replaces)s, vectors = %(vectors)s,
    exchange_rows = %(exchange_rows)s, episode_rows = %(episode_rows)s, note_rows = %(note_rows)s, heads = %(heads)s
    WHERE owner_id = %(owner)s"""

# ---- lines

LINES = """SELECT n, entry FROM lines
    WHERE owner_id = %(owner)s AND journal = %(journal)s AND epoch = %(epoch)s AND n > %(after)s ORDER BY n"""
ADD_LINE = "INSERT INTO lines (owner_id, journal, epoch, n, entry) VALUES (%(owner)s, %(journal)s, %(epoch)s, %(n)s, %(entry)s)"
DROP_LINES = "DELETE FROM lines WHERE owner_id = %(owner)s AND journal = %(journal)s"

# ---- replies

REPLIES = "SELECT id, worker, ids, key, entry, withheld FROM replies WHERE owner_id = %(owner)s ORDER BY id"
REPLY = "SELECT worker, withheld FROM replies WHERE owner_id = %(owner)s AND id = %(id)s"
START = """INSERT INTO replies (owner_id, id, worker, ids) VALUES (%(owner)s, %(id)s, %(worker)s, '')
    ON CONFLICT (owner_id, id) DO UPDATE SET worker = excluded.worker"""
REST = """INSERT INTO replies (owner_id, id, worker, ids, key) VALUES (%(owner)s, %(id)s, %(worker)s, %(ids)s, %(key)s)
    ON CONFLICT (owner_id, id) DO UPDATE SET ids = excluded.ids, key = excluded.key, entry = NULL, withheld = false"""
END = "UPDATE replies SET entry = %(entry)s WHERE owner_id = %(owner)s AND id = %(id)s"
RELEASE = "UPDATE replies SET worker = NULL WHERE owner_id = %(owner)s AND id = %(id)s"
WITHHOLD = "UPDATE replies SET withheld = true, ids = '[]', entry = NULL WHERE owner_id = %(owner)s AND id = %(id)s"
DROP_REPLY = "DELETE FROM replies WHERE owner_id = %(owner)s AND id = %(id)s"
PIECES = "SELECT piece FROM pieces WHERE owner_id = %(owner)s AND id = %(id)s ORDER BY n"
ADD_PIECE = """INSERT INTO pieces (owner_id, id, n, piece)
    SELECT owner_id, id, %(n)s, %(piece)s FROM replies WHERE owner_id = %(owner)s AND id = %(id)s AND NOT withheld
    ON CONFLICT (owner_id, id, n) DO UPDATE SET piece = excluded.piece"""
DROP_PIECES = "DELETE FROM pieces WHERE owner_id = %(owner)s AND id = %(id)s"

# ---- exchanges

_EXCHANGE = """SELECT e.row, e.id, e.at, e.sent, e.heard, e.status, e.extra, e.sha, coalesce(n.tag, '')
    FROM exchanges e LEFT JOIN notes n ON n.owner_id = %(owner)s AND n.id = e.id
    WHERE e.owner_id = %(owner)s AND e.alive"""
EXCHANGES_BY_ID = f"{_EXCHANGE} AND e.id = ANY(%(ids)s) ORDER BY e.row"
EXCHANGES_BY_ROW = f"{_EXCHANGE} AND e.row = ANY(%(rows)s) ORDER BY e.row"
EXCHANGES_BEFORE = (
    f'{_EXCHANGE} AND e.t < %(moment)s ORDER BY e.t DESC, length(e.id) DESC, e.id COLLATE "C" DESC LIMIT %(count)s'
)
ROWS_SINCE = "SELECT row FROM exchanges WHERE owner_id = %(owner)s AND alive AND gen > %(after)s ORDER BY row"
TIMES = "SELECT row, t FROM exchanges WHERE owner_id = %(owner)s AND alive ORDER BY t, row"
READ_BY = """SELECT e.t, e.id FROM notes n JOIN exchanges e ON e.owner_id = %(owner)s AND e.id = n.id
    WHERE n.owner_id = %(owner)s AND e.alive AND n.by = ANY(%(readers)s)"""
_HAS = 'NOT EXISTS (SELECT FROM unnest(%(words)s::text[]) w WHERE position(w IN lower({} COLLATE "C")) = 0)'
_SAID = "sent || ' ' || lines || ' ' || heard"
EXCHANGES_WITH = f"""SELECT t, id, CASE WHEN %(folds)s THEN {_SAID} END FROM exchanges
    WHERE owner_id = %(owner)s AND alive AND {_HAS.format(f"({_SAID})")}"""
_TIME_SAID = f"""SELECT t, CASE WHEN %(folds)s THEN sent END FROM exchanges
    WHERE owner_id = %(owner)s AND alive AND t <= %(before)s AND NOT id = ANY(%(hidden)s) AND {_HAS.format("sent")}"""
FIRST_SAID = f"{_TIME_SAID} ORDER BY t LIMIT %(limit)s"
LAST_SAID = f"{_TIME_SAID} ORDER BY t DESC LIMIT %(limit)s"
CHANGED_EXCHANGES = "SELECT row, t, alive FROM exchanges WHERE owner_id = %(owner)s AND gen > %(since)s ORDER BY row"
HASHES = "SELECT id, sha FROM exchanges WHERE owner_id = %(owner)s AND alive ORDER BY t, row"
KILL_EXCHANGES = """UPDATE exchanges SET alive = false, gen = %(gen)s, sent = '', heard = '', lines = '', extra = '', sha = ''
    WHERE owner_id = %(owner)s AND id = ANY(%(ids)s) AND alive"""
ADD_EXCHANGE = """INSERT INTO exchanges (owner_id, row, id, t, at, sent, heard, lines, status, extra, sha, gen)
    VALUES (%(owner)s, %(row)s, %(id)s, %(t)s, %(at)s, %(sent)s, %(heard)s, %(lines)s, %(status)s, %(extra)s, %(sha)s, %(gen)s)"""

# ---- notes

_NOTE = "SELECT id, tag, keywords, by, place, episodes FROM notes WHERE owner_id = %(owner)s"
NOTES = f"{_NOTE} AND id = ANY(%(ids)s)"
NOTED = f"""{_NOTE} AND (id = ANY(%(keys)s) OR id IN (
    SELECT note FROM episodes WHERE owner_id = %(owner)s AND alive AND id = ANY(%(episodes)s)))
    ORDER BY place COLLATE "C", nr"""
PUT_NOTE = """INSERT INTO notes (owner_id, id, nr, place, tag, keywords, by, episodes)
    VALUES (%(owner)s, %(id)s, %(nr)s, %(place)s, %(tag)s, %(keywords)s, %(by)s, %(episodes)s)
    ON CONFLICT (owner_id, id) DO UPDATE SET place = excluded.place, tag = excluded.tag, keywords = excluded.keywords,
    by = excluded.by, episodes = excluded.episodes"""
DROP_NOTES = "DELETE FROM notes WHERE owner_id = %(owner)s AND id = ANY(%(ids)s)"

# ---- episodes

_EPISODE = "SELECT row, id, data FROM episodes WHERE owner_id = %(owner)s AND alive"
EPISODES_BY_ROW = f"{_EPISODE} AND row = ANY(%(rows)s) ORDER BY row"
EPISODES_BY_ID = f"{_EPISODE} AND id = ANY(%(ids)s) ORDER BY row"
SUPERSEDING = f"{_EPISODE} AND replaces ORDER BY row"
EPISODE_ROWS = "SELECT id, row FROM episodes WHERE owner_id = %(owner)s AND alive AND id = ANY(%(ids)s)"
CITING = "SELECT DISTINCT row FROM episode_sources WHERE owner_id = %(owner)s AND source = ANY(%(ids)s) ORDER BY row"
WITH_EVIDENCE = "SELECT row FROM episodes WHERE owner_id = %(owner)s AND alive AND evidence ORDER BY row"
BIRTHS = "SELECT id, t, by, confirmed FROM episodes WHERE owner_id = %(owner)s AND alive ORDER BY row"
HAPPENED = """SELECT row, starts, ends FROM episodes
    WHERE owner_id = %(owner)s AND alive AND starts IS NOT NULL ORDER BY starts, row"""
TIME_HAPPENED = f"""SELECT id, starts, data FROM episodes
    WHERE owner_id = %(owner)s AND alive AND starts <= %(before)s AND {_HAS.format("words")} ORDER BY starts DESC"""
_TOLD = "words || ' ' || keywords"
EPISODES_WITH = f"""SELECT t, kind, id, row, CASE WHEN %(folds)s THEN {_TOLD} END FROM episodes
    WHERE owner_id = %(owner)s AND alive AND kind = ANY(%(kinds)s) AND {_HAS.format(f"({_TOLD})")}"""
CHANGED_EPISODES = """SELECT row, id, CASE WHEN alive THEN data END FROM episodes
    WHERE owner_id = %(owner)s AND gen > %(since)s ORDER BY row"""
KILL_EPISODES = """UPDATE episodes SET alive = false, gen = %(gen)s, data = '', words = '', keywords = '', note = ''
    WHERE owner_id = %(owner)s AND row = ANY(%(rows)s)"""
DROP_SOURCES = "DELETE FROM episode_sources WHERE owner_id = %(owner)s AND row = ANY(%(rows)s)"
MOVE_EPISODE = (
    "UPDATE episodes SET note = %(note)s WHERE owner_id = %(owner)s AND id = %(id)s AND alive AND note <> %(note)s"
)
ADD_EPISODE = """INSERT INTO episodes (owner_id, row, id, note, t, starts, ends, kind, by, confirmed, data, words, keywords,
    replaces, evidence, gen) VALUES (%(owner)s, %(row)s, %(id)s, %(note)s, %(t)s, %(starts)s, %(ends)s, %(kind)s, %(by)s,
    %(confirmed)s, %(data)s, %(words)s, %(keywords)s, %(replaces)s, %(evidence)s, %(gen)s)"""
ADD_SOURCE = """INSERT INTO episode_sources (owner_id, source, row) VALUES (%(owner)s, %(source)s, %(row)s)
    ON CONFLICT (owner_id, source, row) DO NOTHING"""

# ---- facts

FACTS = "SELECT id, data FROM facts WHERE owner_id = %(owner)s"
PUT_FACT = """INSERT INTO facts (owner_id, id, data) VALUES (%(owner)s, %(id)s, %(data)s)
    ON CONFLICT (owner_id, id) DO UPDATE SET data = excluded.data"""
DROP_FACTS = "DELETE FROM facts WHERE owner_id = %(owner)s AND id = ANY(%(ids)s)"

# ---- vectors

_IN_LAYER = "FROM vectors WHERE owner_id = %(owner)s AND space = %(space)s AND layer = %(layer)s"
VECTORS = f"SELECT position, key, vector {_IN_LAYER} AND gen > %(since)s ORDER BY position"
VECTOR_KEYS = f"SELECT position, key, NULL {_IN_LAYER} AND gen > %(since)s ORDER BY position"
VECTORS_AT = f"SELECT position, vector {_IN_LAYER} AND position = ANY(%(positions)s) AND vector IS NOT NULL"
PRODUCTS = f"""SELECT position, -(vector <#> %(query)s) {_IN_LAYER} AND position = ANY(%(positions)s) AND vector IS NOT NULL
    ORDER BY position"""
SEARCHED = "diary"
"""The layer that grows with all that is said: the one that an approximate index is for."""


def near_index(dim: int) -> str:
    """What makes the approximate index over vectors of ``dim`` dimensions; readers and writers go on meanwhile."""
    return f"""CREATE INDEX CONCURRENTLY IF NOT EXISTS vectors_near_{dim:d} ON vectors
        USING hnsw ((vector::vector({dim:d})) vector_ip_ops) WHERE layer = '{SEARCHED}' AND vector_dims(vector) = {dim:d}"""


def nearest(dim: int) -> str:
    """The statement that this index serves; without the index it compares all vectors of the owner."""
    return f"""SELECT position, -(vector::vector({dim:d}) <#> %(query)s) FROM vectors
        WHERE owner_id = %(owner)s AND space = %(space)s AND layer = '{SEARCHED}' AND vector_dims(vector) = {dim:d}
        AND NOT position = ANY(%(without)s) ORDER BY vector::vector({dim:d}) <#> %(query)s LIMIT %(k)s"""


PUT_VECTOR = """INSERT INTO vectors (owner_id, space, layer, position, key, vector, gen)
    VALUES (%(owner)s, %(space)s, %(layer)s, %(position)s, %(key)s, %(vector)s, %(gen)s)
    ON CONFLICT (owner_id, space, layer, position)
    DO UPDATE SET key = excluded.key, vector = excluded.vector, gen = excluded.gen"""
CLEAR_VECTORS = """UPDATE vectors SET key = '', vector = NULL, gen = %(gen)s
    WHERE owner_id = %(owner)s AND space = %(space)s AND layer = %(layer)s AND position = ANY(%(positions)s)"""
SPACES = "SELECT DISTINCT space FROM vectors WHERE owner_id = %(owner)s"
DROP_SPACES = "DELETE FROM vectors WHERE owner_id = %(owner)s AND NOT space = ANY(%(spaces)s)"
MANIFEST = "SELECT manifest, swept FROM owners WHERE owner_id = %(owner)s"
WRITE_MANIFEST = "UPDATE owners SET manifest = %(manifest)s WHERE owner_id = %(owner)s"
SWEEP = "UPDATE owners SET swept = %(swept)s WHERE owner_id = %(owner)s"

# ---- a whole owner

TABLES = (
    "owners", "lines", "replies", "pieces", "exchanges", "notes", "episodes", "episode_sources", "facts", "vectors",
)  # fmt: skip
EMPTY = {table: f"DELETE FROM {table} WHERE owner_id = %(owner)s" for table in TABLES}
