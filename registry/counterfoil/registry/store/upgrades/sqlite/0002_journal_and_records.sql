-- The journal and the records; the journal begins with what is stored.
--
-- Of what was stored before, the time of each registration is known, and that of deletions and settings is not: the
-- registrations are noted in the order of their times, then the deletions and the settings as of this upgrade.

CREATE TABLE changes (
  seq INTEGER PRIMARY KEY NOT NULL,
  ts INTEGER NOT NULL,
  kind TEXT NOT NULL,
  context TEXT NOT NULL,
  name TEXT NOT NULL,
  version INTEGER,
  schema_id INTEGER,
  guid BLOB,
  document TEXT);
CREATE INDEX changes_scope ON changes (context, name, seq);
CREATE INDEX changes_ts ON changes (ts);

CREATE TABLE records (
  kind TEXT NOT NULL,
  key TEXT NOT NULL,
  document TEXT NOT NULL,
  ts INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  PRIMARY KEY (kind, key)) WITHOUT ROWID;

-- The counters become what they are in PostgreSQL.
CREATE TABLE stamps (
  only_one INTEGER PRIMARY KEY NOT NULL DEFAULT 1 CHECK (only_one),
  change INTEGER NOT NULL DEFAULT 0,
  settings INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
INSERT INTO stamps DEFAULT VALUES;
DROP TABLE counters;

-- Contents get rows in the order in which they come: long texts spread over a tree are slow to write.
CREATE TABLE contents_in_order (
  guid BLOB PRIMARY KEY NOT NULL,
  schema_type TEXT NOT NULL,
  schema_text TEXT NOT NULL,
  refs TEXT, metadata TEXT, rule_set TEXT);
INSERT INTO contents_in_order SELECT * FROM contents;
DROP TABLE contents;
ALTER TABLE contents_in_order RENAME TO contents;

INSERT INTO changes (seq, ts, kind, context, name, version, schema_id, guid)
SELECT row_number() OVER (ORDER BY v.ts, c.name, v.schema_id, s.name, v.version),
  v.ts, 'version-registered', c.name, s.name, v.version, v.schema_id, i.guid
FROM versions v JOIN subjects s ON s.id = v.subject_id JOIN contexts c ON c.id = s.context_id
JOIN schema_ids i ON i.context_id = v.context_id AND i.id = v.schema_id;

INSERT INTO changes (seq, ts, kind, context, name, version, schema_id, guid)
SELECT (SELECT coalesce(max(seq), 0) FROM changes) + row_number() OVER (ORDER BY c.name, s.name, v.version),
  (SELECT max(coalesce(max(ts), 0), CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)) FROM changes),
  'version-deleted', c.name, s.name, v.version, v.schema_id, i.guid
FROM versions v JOIN subjects s ON s.id = v.subject_id JOIN contexts c ON c.id = s.context_id
JOIN schema_ids i ON i.context_id = v.context_id AND i.id = v.schema_id
WHERE v.deleted;

INSERT INTO changes (seq, ts, kind, context, name, document)
SELECT (SELECT coalesce(max(seq), 0) FROM changes) + row_number() OVER (ORDER BY context, name),
  (SELECT max(coalesce(max(ts), 0), CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)) FROM changes),
  'settings-changed', context, name,
  '{' || coalesce('"config": ' || config, '') || CASE WHEN config IS NULL OR mode IS NULL THEN '' ELSE ', ' END
  || coalesce('"mode": "' || mode || '"', '') || '}'
FROM settings;

UPDATE subjects SET revision = (
  SELECT max(h.seq) FROM changes h JOIN contexts c ON c.name = h.context
  WHERE c.id = subjects.context_id AND h.name = subjects.name AND h.version IS NOT NULL);

UPDATE stamps SET change = (SELECT coalesce(max(seq), 0) FROM changes),
  settings = (SELECT coalesce(max(seq), 0) FROM changes WHERE kind = 'settings-changed');
