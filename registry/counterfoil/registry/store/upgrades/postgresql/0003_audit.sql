-- Each change has its author, and a chain of hashes leads from the first change to the last. The audit has its table.
--
-- Who requested the changes so far is not known.

LOCK TABLE stamps IN ACCESS EXCLUSIVE MODE;

ALTER TABLE changes ADD COLUMN author text, ADD COLUMN request_id text, ADD COLUMN chain bytea;

DO $$
DECLARE
  each record;
  before bytea := '';
BEGIN
  FOR each IN SELECT * FROM changes ORDER BY seq LOOP
    before := sha256(convert_to(concat(
      encode(before, 'hex'), E'\x1f', each.seq, E'\x1f', each.ts, E'\x1f', each.kind, E'\x1f', each.context, E'\x1f',
      each.name, E'\x1f', each.version, E'\x1f', each.schema_id, E'\x1f', replace(each.guid::text, '-', ''), E'\x1f',
      each.document, E'\x1f', E'\x1f'), 'UTF8'));
    UPDATE changes SET chain = before WHERE seq = each.seq;
  END LOOP;
END $$;

ALTER TABLE changes ALTER COLUMN chain SET NOT NULL;

-- What happened beside the changes: access, denials, keys that were given out.
CREATE TABLE audit (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  change bigint NOT NULL,
  ts bigint NOT NULL,
  event text NOT NULL,
  document text NOT NULL);
CREATE INDEX audit_place ON audit (change, number);
