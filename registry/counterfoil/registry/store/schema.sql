CREATE TABLE contexts (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,                    -- '.' is the default context
  next_schema_id INTEGER NOT NULL DEFAULT 1,    -- ids are per context; an imported id raises it, nothing lowers it
  listed INTEGER NOT NULL DEFAULT 1);           -- 0: deleted; the row stays, so that its ids are never given out again

CREATE TABLE contents (                         -- immutable, shared by all contexts
  guid BLOB NOT NULL PRIMARY KEY,               -- fingerprint of text, references, metadata and rules
  schema_type TEXT NOT NULL,
  schema_text TEXT NOT NULL,
  refs TEXT, metadata TEXT, rule_set TEXT       -- JSON documents or NULL
);

CREATE TABLE schema_ids (                       -- (context, id) -> content; immutable until the last version is gone
  context_id INTEGER NOT NULL REFERENCES contexts(id),
  id INTEGER NOT NULL CHECK (id >= 0),
  guid BLOB NOT NULL REFERENCES contents(guid),
  is_primary INTEGER NOT NULL DEFAULT 1,        -- 0: an import gave the same content a newer id
  PRIMARY KEY (context_id, id)) WITHOUT ROWID;
CREATE UNIQUE INDEX schema_ids_content ON schema_ids(context_id, guid) WHERE is_primary = 1;
CREATE INDEX schema_ids_guid ON schema_ids(guid);

CREATE TABLE subjects (
  id INTEGER PRIMARY KEY,
  context_id INTEGER NOT NULL REFERENCES contexts(id),
  name TEXT NOT NULL,
  active_versions INTEGER NOT NULL DEFAULT 0,   -- so that listing needs no join
  revision INTEGER NOT NULL DEFAULT 0,          -- stamp of the last write; what a plan compares
  UNIQUE (context_id, name));

CREATE TABLE versions (
  subject_id INTEGER NOT NULL REFERENCES subjects(id),
  version INTEGER NOT NULL CHECK (version > 0),
  context_id INTEGER NOT NULL,
  schema_id INTEGER NOT NULL,
  deleted INTEGER NOT NULL DEFAULT 0,
  ts INTEGER NOT NULL,                          -- when stored, epoch milliseconds
  PRIMARY KEY (subject_id, version),
  FOREIGN KEY (context_id, schema_id) REFERENCES schema_ids(context_id, id)) WITHOUT ROWID;
CREATE INDEX versions_schema ON versions(context_id, schema_id);

CREATE TABLE schema_refs (                      -- who refers to whom: the guard of every delete
  context_id INTEGER NOT NULL,
  schema_id INTEGER NOT NULL,
  position INTEGER NOT NULL,
  target_context_id INTEGER NOT NULL REFERENCES contexts(id),
  target_subject TEXT NOT NULL,
  target_version INTEGER NOT NULL,
  PRIMARY KEY (context_id, schema_id, position),
  FOREIGN KEY (context_id, schema_id) REFERENCES schema_ids(context_id, id) ON DELETE CASCADE) WITHOUT ROWID;
CREATE INDEX schema_refs_target ON schema_refs(target_context_id, target_subject, target_version);

CREATE TABLE settings (                         -- an empty name is the context itself; the subject need not exist
  context TEXT NOT NULL,
  name TEXT NOT NULL,
  config TEXT,                                  -- JSON document or NULL
  mode TEXT,
  PRIMARY KEY (context, name)) WITHOUT ROWID;

CREATE TABLE changes (                          -- all that has happened, in the order in which it was committed
  seq INTEGER PRIMARY KEY,                      -- from 1, without a gap
  ts INTEGER NOT NULL,                          -- epoch milliseconds; never less than the one before
  kind TEXT NOT NULL,
  context TEXT NOT NULL,
  name TEXT NOT NULL,
  version INTEGER,
  schema_id INTEGER,
  guid BLOB,
  document TEXT,                                -- JSON document or NULL
  author TEXT,                                  -- the principal; NULL if no authentication is set up
  request_id TEXT,
  chain BLOB NOT NULL);                         -- hash over the change and the chain before (store/changes.py)
CREATE INDEX changes_scope ON changes(context, name, seq);
CREATE INDEX changes_ts ON changes(ts);

CREATE TABLE audit (                            -- what happened beside the changes: access, denials, keys given out
  number INTEGER PRIMARY KEY,                   -- in the order in which they were committed
  change INTEGER NOT NULL,                      -- number of the last change before it
  ts INTEGER NOT NULL,                          -- epoch milliseconds
  event TEXT NOT NULL,
  document TEXT NOT NULL);                      -- JSON: the facts
CREATE INDEX audit_place ON audit (change, number);

CREATE TABLE records (                          -- what is kept beside schemas: keys, associations
  kind TEXT NOT NULL,
  key TEXT NOT NULL,                            -- its parts, each ended by U+001F
  document TEXT NOT NULL,                       -- JSON
  ts INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  PRIMARY KEY (kind, key)) WITHOUT ROWID;

CREATE TABLE stamps (                           -- one row
  only_one INTEGER PRIMARY KEY DEFAULT 1 CHECK (only_one),
  change INTEGER NOT NULL DEFAULT 0,            -- number of the last change
  settings INTEGER NOT NULL DEFAULT 0           -- number of the last change that registrations and deletions rest on
) WITHOUT ROWID;
INSERT INTO stamps DEFAULT VALUES;
