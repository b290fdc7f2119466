-- How plans are carried out, in one call for many of them. What the functions decide is what store/tables.py
-- decides for the other stores; one behaviour suite runs over both. All checks of a plan come before its first write,
-- and a plan that is refused writes nothing.
--
-- In the database each name has the digest of this text at its end, wherever it is created and called
-- (postgres_functions.py), so that servers of several versions work side by side.

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
    -- (The first condition reads a table, so that the rest is planned anew if functions were removed meanwhile.)
    outcome := CASE
      WHEN (plan ->> 'settings_revision')::bigint <> (SELECT settings FROM stamps) AND have_terms_changed(plan)
        THEN '{"refused": "settings"}'::jsonb
      WHEN plan ->> 'kind' = 'append' THEN
        append(plan, guids[(plan ->> 'content')::int], texts[(plan ->> 'content')::int])
      WHEN plan ->> 'kind' = 'soft' THEN soft_delete(plan)
      WHEN plan ->> 'kind' = 'hard' THEN hard_delete(plan)
      WHEN plan ->> 'kind' = 'settings' THEN put_settings(plan)
      WHEN plan ->> 'kind' = 'drop' THEN drop_context(plan)
      WHEN plan ->> 'kind' = 'records' THEN put_records(plan)
      WHEN plan ->> 'kind' = 'together' THEN together(plan, guids, texts)
    END;
    outcomes := array_append(outcomes, outcome);
  END LOOP;
  ended := last_seq();
  IF ended > begun THEN
    UPDATE stamps SET change = ended;
  END IF;
  RETURN jsonb_build_object(
    'begun', begun, 'ended', ended, 'settings', (SELECT settings FROM stamps), 'outcomes', to_jsonb(outcomes));
END $$;

-- Whether what counts of config and modes has changed since a plan was made: all for most plans, for those with `terms`
-- what is in force for their subject.
CREATE FUNCTION have_terms_changed(plan jsonb) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
  since bigint := (plan ->> 'settings_revision')::bigint;
BEGIN
  IF coalesce(since = (SELECT settings FROM stamps), true) THEN
    RETURN false;
  END IF;
  RETURN NOT plan ? 'terms' OR EXISTS (
    SELECT FROM jsonb_array_elements(plan -> 'terms') t JOIN changes c ON c.context = t.value ->> 0 AND c.name = t.value ->> 1
    WHERE c.seq > since AND c.kind IN ('settings-changed', 'record-changed'));
END $$;

CREATE FUNCTION append(plan jsonb, content_guid uuid, content_text bytea) RETURNS jsonb
LANGUAGE plpgsql AS $$
DECLARE
  subject subjects%ROWTYPE := find_subject(plan ->> 'context', plan ->> 'name');
  place contexts%ROWTYPE;
  has_targets boolean := jsonb_array_length(plan -> 'targets') > 0;
  given bigint := (plan ->> 'schema_id')::bigint;
  known bigint;
  bound uuid;
  chosen bigint;
  number bigint := (plan ->> 'version')::bigint;
  replaced bigint;
  noted changes%ROWTYPE;
  stored_at bigint;
  superseded bigint[] := '{}';
  touched bigint;
  missing jsonb;
BEGIN
  -- checks
  IF coalesce(subject.revision, 0) <> (plan ->> 'revision')::bigint THEN
    RETURN '{"refused": "subject"}';
  END IF;
  IF has_targets THEN
    SELECT t.value INTO missing FROM jsonb_array_elements(plan -> 'targets') t WHERE NOT EXISTS (
      SELECT FROM contexts c JOIN subjects s ON s.context_id = c.id JOIN versions v ON v.subject_id = s.id
      WHERE c.name = t.value ->> 0 AND s.name = t.value ->> 1 AND v.version = (t.value ->> 2)::bigint
        AND NOT (v.deleted AND (t.value ->> 3)::boolean)) LIMIT 1;
    IF FOUND THEN
      RETURN jsonb_build_object('refused', 'target', 'target', missing);
    END IF;
  END IF;
  SELECT * INTO place FROM contexts WHERE name = plan ->> 'context';
  IF given IS NULL THEN
    SELECT id INTO known FROM schema_ids WHERE context_id = place.id AND guid = content_guid AND is_primary;
  ELSE
    SELECT id, guid INTO known, bound FROM schema_ids WHERE context_id = place.id AND id = given;
    IF bound <> content_guid THEN
      RETURN '{"refused": "id"}';
    END IF;
  END IF;
  -- content and id
  IF place.id IS NULL THEN
    INSERT INTO contexts (name) VALUES (plan ->> 'context') RETURNING * INTO place;
  END IF;
  chosen := coalesce(given, known, place.next_schema_id);
  IF NOT place.listed OR chosen >= place.next_schema_id THEN
    UPDATE contexts SET next_schema_id = greatest(next_schema_id, chosen + 1), listed = true WHERE id = place.id;
  END IF;
  IF known IS NULL THEN
    INSERT INTO contents VALUES (
      content_guid, plan ->> 'schema_type', content_text, plan ->> 'refs', plan ->> 'metadata', plan ->> 'rule_set')
      ON CONFLICT DO NOTHING;
    IF given IS NOT NULL THEN
      UPDATE schema_ids SET is_primary = false WHERE context_id = place.id AND guid = content_guid AND is_primary;
    END IF;
    INSERT INTO schema_ids (context_id, id, guid) VALUES (place.id, chosen, content_guid);
    IF has_targets THEN
      INSERT INTO schema_refs
        SELECT place.id, chosen, t.ordinality - 1, c.id, t.value ->> 1, (t.value ->> 2)::bigint
        FROM jsonb_array_elements(plan -> 'targets') WITH ORDINALITY t JOIN contexts c ON c.name = t.value ->> 0;
    END IF;
  END IF;
  -- version
  IF subject.id IS NULL THEN
    INSERT INTO subjects (context_id, name) VALUES (place.id, plan ->> 'name') RETURNING * INTO subject;
  END IF;
  IF number IS NULL THEN
    number := coalesce((SELECT max(version) + 1 FROM versions WHERE subject_id = subject.id), 1);
  END IF;
  noted := note('version-registered', plan ->> 'context', subject.name, number, chosen, content_guid);
  stored_at := coalesce((plan ->> 'ts')::bigint, noted.ts);
  SELECT schema_id INTO replaced FROM versions WHERE subject_id = subject.id AND version = number;
  INSERT INTO versions VALUES (subject.id, number, place.id, chosen, false, stored_at)
    ON CONFLICT (subject_id, version) DO UPDATE SET schema_id = excluded.schema_id, deleted = false, ts = excluded.ts;
  IF replaced IS NOT NULL THEN
    PERFORM release_unused(place.id, replaced);
  END IF;
  IF known IS NOT NULL THEN
    -- deleted versions of the same content are superseded, unless something refers to them
    superseded := ARRAY(
      SELECT version FROM versions v WHERE subject_id = subject.id AND deleted AND schema_id = chosen
        AND version < number AND NOT EXISTS (SELECT FROM referring(place.id, subject.name, v.version)));
  END IF;
  IF note_versions('version-removed', subject, superseded) THEN
    DELETE FROM versions WHERE subject_id = subject.id AND version = ANY (superseded);
  END IF;
  IF replaced IS NULL AND superseded = '{}' THEN
    UPDATE subjects SET revision = noted.seq, active_versions = active_versions + 1 WHERE id = subject.id;
    touched := noted.seq;
  ELSE
    PERFORM touch(subject.id);
    touched := last_seq();
  END IF;
  RETURN jsonb_build_object(
    'id', chosen, 'version', number, 'ts', stored_at, 'revision', touched,
    'shares_id', coalesce(known, replaced) IS NOT NULL);
END $$;

CREATE FUNCTION soft_delete(plan jsonb) RETURNS jsonb
LANGUAGE plpgsql AS $$
DECLARE
  subject subjects%ROWTYPE := find_subject(plan ->> 'context', plan ->> 'name');
  refusal jsonb := refusal_to_delete(subject, plan, deleted_count => false);
BEGIN
  IF refusal IS NULL AND note_versions('version-deleted', subject, numbers_of(plan)) THEN
    UPDATE versions SET deleted = true WHERE subject_id = subject.id AND version = ANY (numbers_of(plan));
    PERFORM touch(subject.id);
  END IF;
  RETURN refusal;
END $$;

CREATE FUNCTION hard_delete(plan jsonb) RETURNS jsonb
LANGUAGE plpgsql AS $$
DECLARE
  subject subjects%ROWTYPE := find_subject(plan ->> 'context', plan ->> 'name');
  refusal jsonb := refusal_to_delete(subject, plan, deleted_count => true);
BEGIN
  IF refusal IS NULL THEN
    PERFORM remove_versions(subject, numbers_of(plan));
  END IF;
  RETURN refusal;
END $$;

CREATE FUNCTION put_settings(plan jsonb) RETURNS jsonb
LANGUAGE plpgsql AS $$
DECLARE
  purged bigint[] := '{}';
  subject subjects%ROWTYPE;
  blocker jsonb;
  scope jsonb;
BEGIN
  IF plan ? 'purge' THEN
    purged := ARRAY(
      SELECT s.id FROM subjects s JOIN contexts c ON c.id = s.context_id
      WHERE coalesce(c.name = plan -> 'purge' ->> 'context', true) AND s.name >= plan -> 'purge' ->> 'name'
        AND starts_with(s.name, plan -> 'purge' ->> 'name')
        AND ((plan -> 'purge' ->> 'whole')::boolean IS FALSE OR s.name = plan -> 'purge' ->> 'name')
      ORDER BY c.name, s.name);
  END IF;
  FOR subject IN SELECT s.* FROM unnest(purged) WITH ORDINALITY p JOIN subjects s ON s.id = p.p ORDER BY ordinality LOOP
    IF subject.active_versions > 0 THEN
      RETURN jsonb_build_object('refused', 'active', 'context', context_name(subject.context_id), 'name', subject.name);
    END IF;
    blocker := find_blocker(
      subject, ARRAY(SELECT version FROM versions WHERE subject_id = subject.id ORDER BY version),
      deleted_count => true, inside => purged);
    IF blocker IS NOT NULL THEN
      RETURN blocker;
    END IF;
  END LOOP;
  FOR subject IN SELECT s.* FROM unnest(purged) WITH ORDINALITY p JOIN subjects s ON s.id = p.p ORDER BY ordinality LOOP
    PERFORM remove_versions(subject, ARRAY(SELECT version FROM versions WHERE subject_id = subject.id));
  END LOOP;
  FOR scope IN SELECT value FROM jsonb_array_elements(plan -> 'scopes') LOOP
    PERFORM note('settings-changed', scope ->> 'context', scope ->> 'name', document => scope ->> 'document');
    DELETE FROM settings WHERE context = scope ->> 'context' AND name = scope ->> 'name';
    IF coalesce(scope ->> 'config', scope ->> 'mode') IS NOT NULL THEN
      INSERT INTO settings VALUES (scope ->> 'context', scope ->> 'name', scope ->> 'config', scope ->> 'mode');
    END IF;
    PERFORM touch_settings();
  END LOOP;
  RETURN NULL;
END $$;

CREATE FUNCTION drop_context(plan jsonb) RETURNS jsonb
LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM subjects s JOIN contexts c ON c.id = s.context_id WHERE c.name = plan ->> 'context') THEN
    RETURN '{"refused": "context"}';
  END IF;
  UPDATE contexts SET listed = false WHERE name = plan ->> 'context';
  PERFORM note('context-deleted', plan ->> 'context', '');
  RETURN NULL;
END $$;

CREATE FUNCTION put_records(plan jsonb) RETURNS jsonb
LANGUAGE plpgsql AS $$
DECLARE
  stale bigint;
  entry jsonb;
  subject subjects%ROWTYPE;
  blocker jsonb;
BEGIN
  SELECT ordinality INTO stale FROM jsonb_array_elements(plan -> 'subjects') WITH ORDINALITY
    WHERE coalesce((find_subject(value ->> 'context', value ->> 'name')).revision, 0)
      <> (value ->> 'revision')::bigint
    ORDER BY ordinality LIMIT 1;
  IF FOUND THEN
    RETURN jsonb_build_object('refused', 'subject', 'position', stale);
  END IF;
  SELECT ordinality INTO stale FROM jsonb_array_elements(plan -> 'writes') WITH ORDINALITY w
    LEFT JOIN records r ON r.kind = w.value ->> 'kind' AND r.key = w.value ->> 'key'
    WHERE coalesce(r.revision, 0) <> (w.value ->> 'revision')::bigint
    ORDER BY ordinality LIMIT 1;
  IF FOUND THEN
    RETURN jsonb_build_object('refused', 'record', 'position', stale);
  END IF;
  FOR entry IN SELECT value FROM jsonb_array_elements(plan -> 'unreferenced') LOOP
    subject := find_subject(entry ->> 'context', entry ->> 'name');
    blocker := find_blocker(
      subject, ARRAY(SELECT version FROM versions WHERE subject_id = subject.id ORDER BY version),
      deleted_count => true, inside => ARRAY[subject.id]);
    IF blocker IS NOT NULL THEN
      RETURN blocker;
    END IF;
  END LOOP;
  FOR entry IN SELECT value FROM jsonb_array_elements(plan -> 'writes') LOOP
    PERFORM note('record-changed', '.', '', document => entry ->> 'noted');
    IF entry ->> 'document' IS NULL THEN
      DELETE FROM records WHERE kind = entry ->> 'kind' AND key = entry ->> 'key';
    ELSE
      INSERT INTO records AS r VALUES (
        entry ->> 'kind', entry ->> 'key', entry ->> 'document', epoch_ms(), last_seq())
        ON CONFLICT (kind, key) DO UPDATE SET revision = excluded.revision, document = excluded.document,
          ts = CASE WHEN r.document = excluded.document THEN r.ts ELSE excluded.ts END;
    END IF;
  END LOOP;
  IF plan ->> 'settings_revision' IS NOT NULL THEN
    PERFORM touch_settings();
  END IF;
  RETURN NULL;
END $$;

-- Several plans, all or none. Their settings are compared once, before the first of them writes.
CREATE FUNCTION together(plan jsonb, guids uuid[], texts bytea[]) RETURNS jsonb
LANGUAGE plpgsql AS $$
DECLARE
  part jsonb;
  said jsonb;
  number int := 0;
BEGIN
  IF EXISTS (SELECT FROM jsonb_array_elements(plan -> 'plans') p WHERE have_terms_changed(p.value)) THEN
    RETURN '{"refused": "settings"}';
  END IF;
  BEGIN  -- a savepoint: when a part is refused, what those before it have written is undone
    FOR part IN SELECT value FROM jsonb_array_elements(plan -> 'plans') LOOP
      number := number + 1;
      said := CASE part ->> 'kind'
        WHEN 'records' THEN put_records(part)
        WHEN 'append' THEN append(part, guids[(part ->> 'content')::int], texts[(part ->> 'content')::int])
        WHEN 'hard' THEN hard_delete(part)
      END;
      IF said -> 'refused' IS NOT NULL THEN
        RAISE SQLSTATE 'CF001';
      END IF;
    END LOOP;
  EXCEPTION WHEN SQLSTATE 'CF001' THEN
    RETURN said || jsonb_build_object('part', number);
  END;
  RETURN NULL;
END $$;

-- The parts that the plans share. (Those in PL/pgSQL keep their plans from one call to the next, those in SQL do not.)

CREATE FUNCTION epoch_ms() RETURNS bigint
LANGUAGE sql AS $$ SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint $$;

-- The number of the last change; whoever asks holds the row in `stamps`.
CREATE FUNCTION last_seq() RETURNS bigint
LANGUAGE plpgsql AS $$
BEGIN
  RETURN coalesce((SELECT max(seq) FROM changes), 0);
END $$;

-- Add a change, under the next number; its time is not before that of the last one. Says what was added.
CREATE FUNCTION note(
  kind text, context text, name text, version bigint DEFAULT NULL, schema_id bigint DEFAULT NULL,
  guid uuid DEFAULT NULL, document text DEFAULT NULL) RETURNS changes
LANGUAGE plpgsql AS $$
DECLARE
  last changes%ROWTYPE;
BEGIN
  SELECT * INTO last FROM changes ORDER BY seq DESC LIMIT 1;
  INSERT INTO changes VALUES (
    coalesce(last.seq, 0) + 1, greatest(epoch_ms(), last.ts), kind, context, name, version, schema_id, guid, document)
    RETURNING * INTO last;
  RETURN last;
END $$;

-- Add a change for each of the subject's versions that is among `numbers`, in their order; whether there are any.
CREATE FUNCTION note_versions(kind text, subject subjects, numbers bigint[]) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
  entry record;
  context text;
BEGIN
  IF cardinality(numbers) = 0 THEN
    RETURN false;
  END IF;
  context := context_name(subject.context_id);
  FOR entry IN
    SELECT v.version, v.schema_id, i.guid FROM versions v
    JOIN schema_ids i ON i.context_id = v.context_id AND i.id = v.schema_id
    WHERE v.subject_id = subject.id AND v.version = ANY (numbers) ORDER BY v.version
  LOOP
    PERFORM note(kind, context, subject.name, entry.version, entry.schema_id, entry.guid);
  END LOOP;
  RETURN FOUND;
END $$;

-- Make the number of the last change the settings' revision.
CREATE FUNCTION touch_settings() RETURNS void
LANGUAGE sql AS $$ UPDATE stamps SET settings = last_seq() $$;

CREATE FUNCTION numbers_of(plan jsonb) RETURNS bigint[]
LANGUAGE sql IMMUTABLE AS $$ SELECT ARRAY(SELECT value::bigint FROM jsonb_array_elements_text(plan -> 'versions')) $$;

CREATE FUNCTION context_name(wanted int) RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
  RETURN (SELECT name FROM contexts WHERE id = wanted);
END $$;

CREATE FUNCTION find_subject(wanted_context text, wanted text) RETURNS subjects
LANGUAGE plpgsql AS $$
DECLARE
  found subjects%ROWTYPE;
BEGIN
  SELECT s.* INTO found FROM subjects s JOIN contexts c ON c.id = s.context_id
    WHERE c.name = wanted_context AND s.name = wanted;
  RETURN found;
END $$;

-- The versions whose schema refers to a version.
CREATE FUNCTION referring(wanted_context int, wanted_subject text, wanted_version bigint)
RETURNS SETOF versions
LANGUAGE sql STABLE AS $$
  SELECT v.* FROM versions v WHERE (v.context_id, v.schema_id) IN (
    SELECT r.context_id, r.schema_id FROM schema_refs r
    WHERE r.target_context_id = wanted_context AND r.target_subject = wanted_subject
      AND r.target_version = wanted_version)
$$;

-- The refusal that names the first version which refers to one of `numbers`; referrers in the subjects `inside` do not
-- count, soft-deleted ones only with `deleted_count`.
CREATE FUNCTION find_blocker(
  subject subjects, numbers bigint[], deleted_count boolean, inside bigint[]) RETURNS jsonb
LANGUAGE sql STABLE AS $$
  SELECT jsonb_build_object(
    'refused', 'reference', 'context', context_name(subject.context_id), 'name', subject.name,
    'version', n.n, 'by_context', c.name, 'by_name', s.name, 'by_version', v.version)
  FROM unnest(numbers) WITH ORDINALITY n
  CROSS JOIN LATERAL referring(subject.context_id, subject.name, n.n) v
  JOIN subjects s ON s.id = v.subject_id JOIN contexts c ON c.id = s.context_id
  WHERE (deleted_count OR NOT v.deleted) AND s.id <> ALL (inside)
  ORDER BY n.ordinality, c.name, s.name, v.version LIMIT 1
$$;

CREATE FUNCTION refusal_to_delete(subject subjects, plan jsonb, deleted_count boolean)
RETURNS jsonb
LANGUAGE plpgsql AS $$
BEGIN
  IF coalesce(subject.revision, 0) <> (plan ->> 'revision')::bigint THEN
    RETURN '{"refused": "subject"}';
  END IF;
  RETURN find_blocker(
    subject, numbers_of(plan), deleted_count,
    inside => CASE WHEN (plan ->> 'ignore_own')::boolean THEN ARRAY[subject.id] ELSE '{}' END);
END $$;

-- Remove versions; the last one takes the subject along, and its config and mode.
CREATE FUNCTION remove_versions(subject subjects, numbers bigint[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  freed bigint[];
BEGIN
  IF NOT note_versions('version-removed', subject, numbers) THEN
    RETURN;
  END IF;
  WITH gone AS (DELETE FROM versions WHERE subject_id = subject.id AND version = ANY (numbers) RETURNING schema_id)
    SELECT array_agg(DISTINCT schema_id) INTO freed FROM gone;
  PERFORM release_unused(subject.context_id, each) FROM unnest(freed) each;
  PERFORM touch(subject.id);
  DELETE FROM subjects WHERE id = subject.id AND NOT EXISTS (SELECT FROM versions WHERE subject_id = subject.id);
  IF subject.name <> '' AND NOT EXISTS (SELECT FROM subjects WHERE id = subject.id) THEN
    DELETE FROM settings WHERE context = context_name(subject.context_id) AND name = subject.name;
    IF FOUND THEN
      PERFORM note('settings-changed', context_name(subject.context_id), subject.name, document => '{}');
      PERFORM touch_settings();
    END IF;
  END IF;
END $$;

-- Forget an id that no version holds, and its content where no other id holds it.
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
