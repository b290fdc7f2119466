-- Each change has its author, and a chain of hashes leads from the first change to the last. The audit has its table.
--
-- Who requested the changes so far is not known. SQLite has no SHA-256: `counterfoil db upgrade` adds the function
-- sha256(text), and a program that runs these statements by hand has to add it, too.

CREATE TABLE chained_changes (
  seq INTEGER PRIMARY KEY,
  ts INTEGER NOT NULL,
  kind TEXT NOT NULL,
  context TEXT NOT NULL,
  name TEXT NOT NULL,
  version INTEGER,
  schema_id INTEGER,
  guid BLOB,
  document TEXT,
  author TEXT,
  request_id TEXT,
  chain BLOB NOT NULL);

WITH RECURSIVE
  facts (seq, text) AS (
    SELECT seq, char(31) || seq || char(31) || ts || char(31) || kind || char(31) || context || char(31) || name
      || char(31) || coalesce(version, '') || char(31) || coalesce(schema_id, '') || char(31)
      || coalesce(lower(hex(guid)), '') || char(31) || coalesce(document, '') || char(31) || char(31)
    FROM changes),
  links (seq, chain) AS (
    SELECT * FROM (SELECT seq, sha256(text) FROM facts ORDER BY seq LIMIT 1)
    UNION ALL
    SELECT f.seq, sha256(lower(hex(l.chain)) || f.text)
    FROM links l JOIN facts f ON f.seq = (SELECT min(seq) FROM changes WHERE seq > l.seq))
INSERT INTO chained_changes SELECT c.*, NULL, NULL, l.chain FROM changes c JOIN links l ON l.seq = c.seq;

DROP TABLE changes;
ALTER TABLE chained_changes RENAME TO changes;
CREATE INDEX changes_scope ON changes (context, name, seq);
CREATE INDEX changes_ts ON changes (ts);

-- What happened beside the changes: access, denials, keys that were given out.
CREATE TABLE audit (
  number INTEGER PRIMARY KEY,
  change INTEGER NOT NULL,
  ts INTEGER NOT NULL,
  event TEXT NOT NULL,
  document TEXT NOT NULL);
CREATE INDEX audit_place ON audit (change, number);
