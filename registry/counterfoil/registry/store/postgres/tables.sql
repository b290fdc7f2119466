-- The tables, in the schema `counterfoil`. Names are compared byte by byte (COLLATE "C"), so that
-- order and prefixes are those of code points.

CREATE TABLE contexts (
  id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text COLLATE "C" NOT NULL UNIQUE,          -- '.' is the default context
  next_schema_id bigint NOT NULL DEFAULT 1,       -- ids are per context; an imported id raises it, nothing lowers it
  listed boolean NOT NULL DEFAULT true            -- false: deleted; the row stays, its ids are never given out again
) WITH (fillfactor = 50);

CREATE TABLE contents (               -- immutable, shared by all contexts
  guid uuid PRIMARY KEY,                          -- fingerprint of text, references, metadata and rules
  schema_type text NOT NULL,
  schema_text bytea NOT NULL,                     -- UTF-8; a text column cannot hold U+0000
  refs text, metadata text, rule_set text);       -- JSON documents or NULL

CREATE TABLE schema_ids (             -- (context, id) -> content; immutable until the last version is gone
  context_id int NOT NULL REFERENCES contexts (id),
  id bigint NOT NULL CHECK (id >= 0),
  guid uuid NOT NULL REFERENCES contents (guid),
  is_primary boolean NOT NULL DEFAULT true,       -- false: an import gave the same content a newer id
  PRIMARY KEY (context_id, id));
CREATE UNIQUE INDEX schema_ids_content ON schema_ids (context_id, guid) WHERE is_primary;
CREATE INDEX schema_ids_guid ON schema_ids (guid);

CREATE TABLE subjects (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  context_id int NOT NULL REFERENCES contexts (id),
  name text COLLATE "C" NOT NULL,
  active_versions int NOT NULL DEFAULT 0,         -- so that listing needs no join
  revision bigint NOT NULL DEFAULT 0,             -- number of the last change; what a plan compares
  UNIQUE (context_id, name)) WITH (fillfactor = 80);

CREATE TABLE versions (
  subject_id bigint NOT NULL REFERENCES subjects (id),
  version bigint NOT NULL CHECK (version > 0),
  context_id int NOT NULL,
  schema_id bigint NOT NULL,
  deleted boolean NOT NULL DEFAULT false,
  ts bigint NOT NULL,                             -- when stored, epoch milliseconds
  PRIMARY KEY (subject_id, version),
  FOREIGN KEY (context_id, schema_id) REFERENCES schema_ids (context_id, id));
CREATE INDEX versions_schema ON versions (context_id, schema_id);

CREATE TABLE schema_refs (            -- who refers to whom: the guard of every delete
  context_id int NOT NULL,
  schema_id bigint NOT NULL,
  position int NOT NULL,
  target_context_id int NOT NULL REFERENCES contexts (id),
  target_subject text COLLATE "C" NOT NULL,
  target_version bigint NOT NULL,
  PRIMARY KEY (context_id, schema_id, position),
  FOREIGN KEY (context_id, schema_id) REFERENCES schema_ids (context_id, id) ON DELETE CASCADE);
CREATE INDEX schema_refs_target ON schema_refs (target_context_id, target_subject, target_version);

CREATE TABLE settings (               -- an empty name is the context itself; the subject need not exist
  context text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  config text,                                    -- JSON document or NULL
  mode text,
  PRIMARY KEY (context, name));

CREATE TABLE changes (                -- all that has happened, in the order in which it was committed
  seq bigint PRIMARY KEY,                         -- from 1, without a gap
  ts bigint NOT NULL,                             -- epoch milliseconds; never less than the one before
  kind text NOT NULL,
  context text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  version bigint,
  schema_id bigint,
  guid uuid,
  document text,                                  -- JSON document or NULL
  author text,                                    -- the principal; NULL if no authentication is set up
  request_id text,
  chain bytea NOT NULL);                          -- hash over the change and the chain before (store/changes.py)
CREATE INDEX changes_scope ON changes (context, name, seq);
CREATE INDEX changes_ts ON changes (ts);

CREATE TABLE audit (                  -- what happened beside the changes: access, denials, keys that were given out
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,  -- in the order in which they were committed
  change bigint NOT NULL,                         -- number of the last change before it
  ts bigint NOT NULL,                             -- epoch milliseconds
  event text NOT NULL,
  document text NOT NULL);                        -- JSON: the facts
CREATE INDEX audit_place ON audit (change, number);

CREATE TABLE records (                -- what is kept beside schemas: keys, associations
  kind text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,                  -- its parts, each ended by U+001F
  document text NOT NULL,                         -- JSON
  ts bigint NOT NULL,
  revision bigint NOT NULL,
  PRIMARY KEY (kind, key));

CREATE TABLE stamps (                 -- one row: the lock that all writers of all nodes take
  only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
  change bigint NOT NULL DEFAULT 0,               -- number of the last change
  settings bigint NOT NULL DEFAULT 0              -- number of the last change that registrations and deletions rest on
) WITH (fillfactor = 20);
INSERT INTO stamps DEFAULT VALUES;
