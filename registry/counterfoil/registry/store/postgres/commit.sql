-- How plans are carried out, in one call for many of them. Nothing is decided here: the guards and the effects of a plan
-- (domain/writes) are interpreted one after another. All guards of a plan are checked before its first effect, so that a
-- plan that is refused writes nothing.
--
-- In the database each name has the digest of this text at its end, wherever it is created and called (functions.py), so
-- that servers of several versions work side by side.

-- The caller of commit() holds the row in `stamps`, so that of all nodes one writes at a time, and every statement sees
-- what the writer before it has committed.
CREATE FUNCTION commit(plans jsonb, guids uuid[], texts bytea[]) RETURNS jsonb
LANGUAGE plpgsql SET search_path = counterfoil, pg_catalog, pg_temp AS $$
DECLARE
  outcomes jsonb[] := '{}';
  plan jsonb;
  outcome jsonb;
  begun bigint;
  ended bigint;
BEGIN
  PERFORM set_config('lock_timeout', '10s', true), set_config('idle_in_transaction_session_timeout', '10s', true);
  IF current_setting('synchronous_commit') = 'off' THEN
    PERFORM set_config('synchronous_commit', 'on', true);  -- an answered write is on the disk, whatever the default
  END IF;
  SELECT change INTO STRICT begun FROM stamps FOR UPDATE;
  FOR plan IN SELECT value FROM jsonb_array_elements(plans) LOOP
    -- (This reads a table, so that it is planned anew if functions were removed while the row was locked.)
    SELECT carry_out(plan, guids, texts) INTO STRICT outcome FROM stamps;
    outcomes := array_append(outcomes, outcome);
  END LOOP;
  ended := last_seq();
  IF ended > begun THEN
    UPDATE stamps SET change = ended;
  END IF;
  RETURN jsonb_build_object(
    'begun', begun, 'ended', ended, 'settings', (SELECT settings FROM stamps), 'outcomes', to_jsonb(outcomes),
    'changes', (
      SELECT coalesce(jsonb_agg(
        jsonb_build_array(seq, ts, kind, context, name, version, schema_id, guid, document, author, request_id)
        ORDER BY seq), '[]')
      FROM changes WHERE seq > begun));
END $$;

-- The index of the first guard that does not hold, or the number of the last change after all effects.
CREATE FUNCTION carry_out(plan jsonb, guids uuid[], texts bytea[]) RETURNS jsonb
LANGUAGE plpgsql AS $$
DECLARE
  effect jsonb;
  shares_id boolean := false;
BEGIN
  FOR number IN 0 .. jsonb_array_length(plan -> 'guards') - 1 LOOP
    IF NOT holds(plan -> 'guards' -> number) THEN
      RETURN jsonb_build_object('refused', number);
    END IF;
  END LOOP;
  FOR number IN 0 .. jsonb_array_length(plan -> 'effects') - 1 LOOP
    effect := (plan -> 'effects' -> number) || (plan -> 'by');  -- who requested it is noted with each change
    CASE effect ->> 'do'
      WHEN 'version' THEN
        shares_id := put_version(effect, guids[(effect ->> 'content')::int], texts[(effect ->> 'content')::int])
          OR shares_id;
      WHEN 'mark' THEN PERFORM mark_deleted(effect);
      WHEN 'remove' THEN PERFORM remove_versions(effect);
      WHEN 'settings' THEN PERFORM put_settings(effect);
      WHEN 'record' THEN PERFORM put_record(effect);
      WHEN 'refresh' THEN
        UPDATE records SET document = effect ->> 'document', ts = epoch_ms()
          WHERE kind = effect ->> 'kind' AND key = effect ->> 'key';
      WHEN 'drop' THEN PERFORM drop_context(effect);
      WHEN 'events' THEN PERFORM add_events(effect);
      WHEN 'drop-events' THEN DELETE FROM audit a WHERE a.number <= (effect ->> 'until')::bigint;
    END CASE;
  END LOOP;
  RETURN jsonb_build_object('ended', last_seq(), 'shares_id', shares_id);
END $$;

-- Whether what a plan was decided on is still so.
CREATE FUNCTION holds(guard jsonb) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
  revision_then bigint := (guard ->> 'revision')::bigint;
BEGIN
  CASE guard ->> 'is'
    WHEN 'revision' THEN
      RETURN coalesce((find_subject(guard ->> 'context', guard ->> 'name')).revision, 0) = revision_then;
    WHEN 'terms' THEN
      IF revision_then = (SELECT settings FROM stamps) THEN
        RETURN true;
      END IF;
      RETURN guard ->> 'scopes' IS NOT NULL AND NOT EXISTS (
        SELECT FROM jsonb_array_elements(guard -> 'scopes') t
        JOIN changes c ON c.context = t.value ->> 0 AND c.name = t.value ->> 1
        WHERE c.seq > revision_then AND c.kind IN ('settings-changed', 'record-changed'));
    WHEN 'target' THEN
      RETURN EXISTS (
        SELECT FROM contexts c JOIN subjects s ON s.context_id = c.id JOIN versions v ON v.subject_id = s.id
        WHERE c.name = guard ->> 'context' AND s.name = guard ->> 'name' AND v.version = (guard ->> 'version')::bigint
          AND NOT (v.deleted AND (guard ->> 'active')::boolean));
    WHEN 'free' THEN
      RETURN NOT EXISTS (
        SELECT FROM contexts c JOIN schema_ids i ON i.context_id = c.id
        WHERE c.name = guard ->> 'context' AND i.id = (guard ->> 'id')::bigint AND i.guid <> (guard ->> 'guid')::uuid);
    WHEN 'id' THEN
      RETURN EXISTS (
        SELECT FROM contexts c JOIN schema_ids i ON i.context_id = c.id
        WHERE c.name = guard ->> 'context' AND i.guid = (guard ->> 'guid')::uuid AND i.is_primary
          AND i.id = (guard ->> 'id')::bigint);
    WHEN 'unreferenced' THEN
      RETURN NOT EXISTS (
        SELECT FROM schema_refs r
        JOIN versions v ON v.context_id = r.context_id AND v.schema_id = r.schema_id
        JOIN subjects s ON s.id = v.subject_id JOIN contexts c ON c.id = s.context_id
        WHERE r.target_context_id = (SELECT id FROM contexts WHERE name = guard ->> 'context')
          AND r.target_subject = guard ->> 'name' AND r.target_version = ANY (numbers_of(guard))
          AND ((guard ->> 'deleted_count')::boolean OR NOT v.deleted)
          AND NOT (
            guard ->> 'inside' IS NOT NULL AND c.name = coalesce(guard -> 'inside' ->> 0, c.name)
            AND s.name = coalesce(guard -> 'inside' ->> 1, s.name)));
    WHEN 'record' THEN
      RETURN revision_then = coalesce(
        (SELECT revision FROM records WHERE kind = guard ->> 'kind' AND key = guard ->> 'key'), 0);
    WHEN 'subjects' THEN
      RETURN (guard ->> 'count')::bigint = (
        SELECT count(*) FROM subjects s JOIN contexts c ON c.id = s.context_id
        WHERE c.name = coalesce(guard ->> 'context', c.name));
  END CASE;
END $$;

-- The effects.

-- Store a version; whether its id existed before, or another version is replaced.
CREATE FUNCTION put_version(effect jsonb, content_guid uuid, content_text bytea) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
  place contexts%ROWTYPE;
  given bigint := (effect ->> 'schema_id')::bigint;
  replaced bigint := (effect ->> 'replaced')::bigint;
  known bigint;
  chosen bigint;
  subject bigint;
  noted changes%ROWTYPE;
BEGIN
  SELECT * INTO place FROM contexts WHERE name = effect ->> 'context';
  IF given IS NULL THEN
    SELECT id INTO known FROM schema_ids WHERE context_id = place.id AND guid = content_guid AND is_primary;
  ELSE
    SELECT id INTO known FROM schema_ids WHERE context_id = place.id AND id = given;
  END IF;
  IF place.id IS NULL THEN
    INSERT INTO contexts (name) VALUES (effect ->> 'context') RETURNING * INTO place;
  END IF;
  chosen := coalesce(given, known, place.next_schema_id);
  IF NOT place.listed OR chosen >= place.next_schema_id THEN
    UPDATE contexts SET next_schema_id = greatest(next_schema_id, chosen + 1), listed = true WHERE id = place.id;
  END IF;
  IF known IS NULL THEN
    INSERT INTO contents VALUES (
      content_guid, effect ->> 'schema_type', content_text, effect ->> 'refs', effect ->> 'metadata',
      effect ->> 'rule_set')
      ON CONFLICT DO NOTHING;
    IF given IS NOT NULL THEN
      UPDATE schema_ids SET is_primary = false WHERE context_id = place.id AND guid = content_guid AND is_primary;
    END IF;
    INSERT INTO schema_ids (context_id, id, guid) VALUES (place.id, chosen, content_guid);
    IF jsonb_array_length(effect -> 'targets') > 0 THEN
      INSERT INTO schema_refs
        SELECT place.id, chosen, t.ordinality - 1, c.id, t.value ->> 1, (t.value ->> 2)::bigint
        FROM jsonb_array_elements(effect -> 'targets') WITH ORDINALITY t JOIN contexts c ON c.name = t.value ->> 0;
    END IF;
  END IF;
  noted := note(
    effect, 'version-registered', place.name, effect ->> 'name', (effect ->> 'version')::bigint, chosen, content_guid);
  IF replaced IS NULL THEN
    UPDATE subjects SET revision = noted.seq, active_versions = active_versions + 1
      WHERE context_id = place.id AND name = noted.name RETURNING id INTO subject;
  ELSE
    SELECT id INTO subject FROM subjects WHERE context_id = place.id AND name = noted.name;
  END IF;
  IF subject IS NULL THEN
    INSERT INTO subjects (context_id, name, revision, active_versions) VALUES (place.id, noted.name, noted.seq, 1)
      RETURNING id INTO subject;
  END IF;
  INSERT INTO versions VALUES (
    subject, noted.version, place.id, chosen, false, coalesce((effect ->> 'ts')::bigint, noted.ts))
    ON CONFLICT (subject_id, version) DO UPDATE SET schema_id = excluded.schema_id, deleted = false, ts = excluded.ts;
  IF replaced IS NOT NULL THEN
    PERFORM release_unused(place.id, replaced);
    PERFORM touch(subject);
  END IF;
  RETURN coalesce(known, replaced) IS NOT NULL;
END $$;

CREATE FUNCTION mark_deleted(effect jsonb) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  subject subjects%ROWTYPE := find_subject(effect ->> 'context', effect ->> 'name');
BEGIN
  PERFORM note_versions('version-deleted', subject, effect);
  UPDATE versions SET deleted = true WHERE subject_id = subject.id AND version = ANY (numbers_of(effect));
  PERFORM touch(subject.id);
END $$;

CREATE FUNCTION remove_versions(effect jsonb) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  subject subjects%ROWTYPE := find_subject(effect ->> 'context', effect ->> 'name');
  freed bigint[];
BEGIN
  PERFORM note_versions('version-removed', subject, effect);
  WITH gone AS (
    DELETE FROM versions WHERE subject_id = subject.id AND version = ANY (numbers_of(effect)) RETURNING schema_id)
    SELECT array_agg(DISTINCT schema_id) INTO freed FROM gone;
  PERFORM release_unused(subject.context_id, each) FROM unnest(freed) each;
  PERFORM touch(subject.id);
  DELETE FROM subjects WHERE id = subject.id AND NOT EXISTS (SELECT FROM versions WHERE subject_id = subject.id);
END $$;

CREATE FUNCTION put_settings(effect jsonb) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM note(effect, 'settings-changed', effect ->> 'context', effect ->> 'name', document => effect ->> 'document');
  DELETE FROM settings WHERE context = effect ->> 'context' AND name = effect ->> 'name';
  IF coalesce(effect ->> 'config', effect ->> 'mode') IS NOT NULL THEN
    INSERT INTO settings VALUES (effect ->> 'context', effect ->> 'name', effect ->> 'config', effect ->> 'mode');
  END IF;
  PERFORM touch_settings();
END $$;

CREATE FUNCTION put_record(effect jsonb) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM note(effect, 'record-changed', '.', '', document => effect ->> 'noted');
  IF effect ->> 'document' IS NULL THEN
    DELETE FROM records WHERE kind = effect ->> 'kind' AND key = effect ->> 'key';
  ELSE
    INSERT INTO records AS r VALUES (
      effect ->> 'kind', effect ->> 'key', effect ->> 'document', epoch_ms(), last_seq())
      ON CONFLICT (kind, key) DO UPDATE SET revision = excluded.revision, document = excluded.document,
        ts = CASE WHEN r.document = excluded.document THEN r.ts ELSE excluded.ts END;
  END IF;
  IF (effect ->> 'is_term')::boolean THEN
    PERFORM touch_settings();
  END IF;
END $$;

CREATE FUNCTION drop_context(effect jsonb) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  UPDATE contexts SET listed = false WHERE name = effect ->> 'context';
  PERFORM note(effect, 'context-deleted', effect ->> 'context', '');
END $$;

-- Add events to the audit, after the last change.
CREATE FUNCTION add_events(effect jsonb) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO audit (change, ts, event, document)
    SELECT last_seq(), (r.value ->> 0)::bigint, r.value ->> 1, r.value ->> 2
    FROM jsonb_array_elements(effect -> 'rows') WITH ORDINALITY r ORDER BY r.ordinality;
END $$;

-- The parts that guards and effects share. (Those in PL/pgSQL keep their plans from one call to the next, those in SQL
-- do not.)

CREATE FUNCTION epoch_ms() RETURNS bigint
LANGUAGE sql AS $$ SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint $$;

-- The number of the last change; the caller holds the row in `stamps`.
CREATE FUNCTION last_seq() RETURNS bigint
LANGUAGE plpgsql AS $$
BEGIN
  RETURN coalesce((SELECT max(seq) FROM changes), 0);
END $$;

-- Add a change, under the next number; its time is not before that of the last one. Its author is that of `effect`, and
-- its chain is that of domain/journal_chain.py. Returns what was added.
CREATE FUNCTION note(
  effect jsonb, kind text, context text, name text, version bigint DEFAULT NULL, schema_id bigint DEFAULT NULL,
  guid uuid DEFAULT NULL, document text DEFAULT NULL) RETURNS changes
LANGUAGE plpgsql AS $$
DECLARE
  last changes%ROWTYPE;
  added changes%ROWTYPE;
BEGIN
  SELECT * INTO last FROM changes ORDER BY seq DESC LIMIT 1;
  added := (
    coalesce(last.seq, 0) + 1, greatest(epoch_ms(), last.ts), kind, context, name, version, schema_id, guid, document,
    effect ->> 'author', effect ->> 'request_id', NULL);
  added.chain := sha256(convert_to(concat(
    encode(last.chain, 'hex'), E'\x1f', added.seq, E'\x1f', added.ts, E'\x1f', kind, E'\x1f', context, E'\x1f', name, E'\x1f',
    version, E'\x1f', schema_id, E'\x1f', replace(guid::text, '-', ''), E'\x1f', document, E'\x1f',
    added.author, E'\x1f', added.request_id), 'UTF8'));
  INSERT INTO changes SELECT added.*;
  RETURN added;
END $$;

-- Add a change for each of the subject's versions in `effect`, in their order.
CREATE FUNCTION note_versions(kind text, subject subjects, effect jsonb) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  entry record;
BEGIN
  FOR entry IN
    SELECT v.version, v.schema_id, i.guid FROM versions v
    JOIN schema_ids i ON i.context_id = v.context_id AND i.id = v.schema_id
    WHERE v.subject_id = subject.id AND v.version = ANY (numbers_of(effect)) ORDER BY v.version
  LOOP
    PERFORM note(effect, kind, effect ->> 'context', subject.name, entry.version, entry.schema_id, entry.guid);
  END LOOP;
END $$;

-- Make the number of the last change the settings' revision.
CREATE FUNCTION touch_settings() RETURNS void
LANGUAGE sql AS $$ UPDATE stamps SET settings = last_seq() $$;

CREATE FUNCTION numbers_of(part jsonb) RETURNS bigint[]
LANGUAGE sql IMMUTABLE AS $$ SELECT ARRAY(SELECT value::bigint FROM jsonb_array_elements_text(part -> 'versions')) $$;

CREATE FUNCTION find_subject(wanted_context text, wanted text) RETURNS subjects
LANGUAGE plpgsql AS $$
DECLARE
  found subjects%ROWTYPE;
BEGIN
  SELECT s.* INTO found FROM subjects s JOIN contexts c ON c.id = s.context_id
    WHERE c.name = wanted_context AND s.name = wanted;
  RETURN found;
END $$;

-- Delete an id that no version has, and its content if no other id has it.
CREATE FUNCTION release_unused(place int, freed bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  freed_guid uuid;
BEGIN
  IF EXISTS (SELECT FROM versions WHERE context_id = place AND schema_id = freed) THEN
    RETURN;
  END IF;
  DELETE FROM schema_ids WHERE context_id = place AND id = freed RETURNING guid INTO freed_guid;
  IF NOT EXISTS (SELECT FROM schema_ids WHERE context_id = place AND guid = freed_guid AND is_primary) THEN
    UPDATE schema_ids SET is_primary = true
      WHERE context_id = place AND id = (SELECT max(id) FROM schema_ids WHERE context_id = place AND guid = freed_guid);
  END IF;
  DELETE FROM contents WHERE guid = freed_guid AND NOT EXISTS (SELECT FROM schema_ids WHERE guid = freed_guid);
END $$;

-- Give a subject the number of the last change as its revision.
CREATE FUNCTION touch(wanted bigint) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  UPDATE subjects SET revision = last_seq(),
    active_versions = (SELECT count(*) FROM versions WHERE subject_id = wanted AND NOT deleted) WHERE id = wanted;
END $$;
