-- The journal and the records; the journal begins with what is stored.
--
-- Of what was stored before, the time of each registration is known, and that of deletions and settings is not: the
-- registrations are noted in the order of their times, then the deletions and the settings as of this upgrade.

LOCK TABLE stamps IN ACCESS EXCLUSIVE MODE;

CREATE TABLE changes (
  seq bigint PRIMARY KEY,
  ts bigint NOT NULL,
  kind text NOT NULL,
  context text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  version bigint,
  schema_id bigint,
  guid uuid,
  document text);
CREATE INDEX changes_scope ON changes (context, name, seq);
CREATE INDEX changes_ts ON changes (ts);

CREATE TABLE records (
  kind text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  document text NOT NULL,
  ts bigint NOT NULL,
  revision bigint NOT NULL,
  PRIMARY KEY (kind, key));

INSERT INTO changes (seq, ts, kind, context, name, version, schema_id, guid)
SELECT row_number() OVER (ORDER BY v.ts, c.name, v.schema_id, s.name, v.version),
  v.ts, 'version-registered', c.name, s.name, v.version, v.schema_id, i.guid
FROM versions v JOIN subjects s ON s.id = v.subject_id JOIN contexts c ON c.id = s.context_id
JOIN schema_ids i ON i.context_id = v.context_id AND i.id = v.schema_id;

INSERT INTO changes (seq, ts, kind, context, name, version, schema_id, guid)
SELECT (SELECT coalesce(max(seq), 0) FROM changes) + row_number() OVER (ORDER BY c.name, s.name, v.version),
  (SELECT greatest(max(ts), CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint)) FROM changes),
  'version-deleted', c.name, s.name, v.version, v.schema_id, i.guid
FROM versions v JOIN subjects s ON s.id = v.subject_id JOIN contexts c ON c.id = s.context_id
JOIN schema_ids i ON i.context_id = v.context_id AND i.id = v.schema_id
WHERE v.deleted;

INSERT INTO changes (seq, ts, kind, context, name, document)
SELECT (SELECT coalesce(max(seq), 0) FROM changes) + row_number() OVER (ORDER BY context, name),
  (SELECT greatest(max(ts), CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint)) FROM changes),
  'settings-changed', context, name,
  '{' || coalesce('"config": ' || config, '') || CASE WHEN config IS NULL OR mode IS NULL THEN '' ELSE ', ' END
  || coalesce('"mode": "' || mode || '"', '') || '}'
FROM settings;

UPDATE subjects SET revision = (
  SELECT max(h.seq) FROM changes h JOIN contexts c ON c.name = h.context
  WHERE c.id = subjects.context_id AND h.name = subjects.name AND h.version IS NOT NULL);

UPDATE stamps SET change = (SELECT coalesce(max(seq), 0) FROM changes),
  settings = (SELECT coalesce(max(seq), 0) FROM changes WHERE kind = 'settings-changed');
