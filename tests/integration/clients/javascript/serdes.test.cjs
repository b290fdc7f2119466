// Confluent's JavaScript serializers: what they write, they read, through the registry under test.
'use strict';

const assert = require('node:assert/strict');
const { test } = require('node:test');
const { create, createFileRegistry, createMutableRegistry } = require('@bufbuild/protobuf');
const { FileDescriptorSetSchema } = require('@bufbuild/protobuf/wkt');
const {
  AvroDeserializer, AvroSerializer, HeaderSchemaIdSerializer, JsonDeserializer, JsonSerializer, ProtobufDeserializer,
  ProtobufSerializer, SerdeType, SerializationError, CelExecutor, JsonataExecutor, RuleRegistry, RuleError,
} = require('@confluentinc/schemaregistry');
const { newClient, uniqueName, record, ID, NOTE } = require('./started.cjs');

const RIDE = { id: 7, note: 'to the airport' };
const { VALUE } = SerdeType;
const subjectOf = (topic) => `${topic}-value`;

async function idsRegistered(topic) {
  return (await newClient().getSchemaMetadata(subjectOf(topic), 1)).id;
}

test('Avro, with the schema that was registered, and with one made from the value', async () => {
  const topic = uniqueName('rides');
  await newClient().register(subjectOf(topic), record('Ride', ID, NOTE));
  const written = await new AvroSerializer(newClient(), VALUE, { useLatestVersion: true }).serialize(topic, RIDE);
  assert.equal(written.readUInt8(0), 0);
  assert.equal(written.readInt32BE(1), await idsRegistered(topic));
  assert.deepEqual({ ...await new AvroDeserializer(newClient(), VALUE, {}).deserialize(topic, written) }, RIDE);

  const derived = uniqueName('rides');
  const bytes = await new AvroSerializer(newClient(), VALUE, { autoRegisterSchemas: true, normalizeSchemas: true }).serialize(derived, RIDE);
  assert.deepEqual({ ...await new AvroDeserializer(newClient(), VALUE, {}).deserialize(derived, bytes) }, RIDE);
  const found = await new AvroSerializer(newClient(), VALUE, {}).serialize(derived, RIDE);
  assert.deepEqual(found, bytes);
  await assert.rejects(new AvroSerializer(newClient(), VALUE, {}).serialize(uniqueName('rides'), RIDE), { errorCode: 40401 });
});

test('Avro, by id, by metadata, and with the guid in a header', async () => {
  const topic = uniqueName('rides');
  const schema = { ...record('Ride', ID, NOTE), metadata: { properties: { major: '1' } } };
  const { id, guid } = await newClient().registerFullResponse(subjectOf(topic), schema);
  for (const choice of [{ useSchemaId: id }, { useLatestWithMetadata: { major: '1' } }]) {
    const headers = {};
    const serializer = new AvroSerializer(newClient(), VALUE, { ...choice, schemaIdSerializer: HeaderSchemaIdSerializer });
    const written = await serializer.serialize(topic, RIDE, headers);
    assert.equal(headers.__value_schema_id.subarray(1).toString('hex'), guid.replaceAll('-', ''));
    const read = await new AvroDeserializer(newClient(), VALUE, {}).deserialize(topic, written, headers);
    assert.deepEqual({ ...read }, RIDE);
  }
});

test('Avro, with a reference', async () => {
  const [topic, place] = [uniqueName('rides'), uniqueName('place')];
  await newClient().register(place, record('Place', { name: 'zone', type: 'int' }));
  await newClient().register(subjectOf(topic), {
    ...record('Ride', { name: 'from', type: 'taxi.Place' }), references: [{ name: 'taxi.Place', subject: place, version: 1 }],
  });
  const written = await new AvroSerializer(newClient(), VALUE, { useLatestVersion: true }).serialize(topic, { from: { zone: 4 } });
  assert.equal((await new AvroDeserializer(newClient(), VALUE, {}).deserialize(topic, written)).from.zone, 4);
});

test('JSON Schema, with validation on both sides', async () => {
  const topic = uniqueName('rides');
  const schema = { type: 'object', properties: { id: { type: 'integer' }, note: { type: 'string' } }, required: ['id'] };
  await newClient().register(subjectOf(topic), { schemaType: 'JSON', schema: JSON.stringify(schema) });
  const serializer = new JsonSerializer(newClient(), VALUE, { useLatestVersion: true, validate: true });
  const written = await serializer.serialize(topic, RIDE);
  assert.equal(written.readInt32BE(1), await idsRegistered(topic));
  assert.deepEqual(await new JsonDeserializer(newClient(), VALUE, { validate: true }).deserialize(topic, written), RIDE);
  await assert.rejects(serializer.serialize(topic, { id: 'seven' }), SerializationError);

  const derived = uniqueName('rides');
  const bytes = await new JsonSerializer(newClient(), VALUE, { autoRegisterSchemas: true }).serialize(derived, RIDE);
  assert.deepEqual(await new JsonDeserializer(newClient(), VALUE, {}).deserialize(derived, bytes), RIDE);
});

// The file that a compiler would have made of: a Ride that imports a Place, and has an Extra inside.
function protobufTypes(name) {
  const place = { name: `${name}_place.proto`, package: name, syntax: 'proto3',
    messageType: [{ name: 'Place', field: [{ name: 'zone', jsonName: 'zone', number: 1, type: 5, label: 1 }] }] };
  const ride = { name: `${name}_ride.proto`, package: name, syntax: 'proto3', dependency: [place.name],
    messageType: [
      { name: 'Before', field: [{ name: 'x', jsonName: 'x', number: 1, type: 9, label: 1 }] },
      { name: 'Ride',
        field: [
          { name: 'id', jsonName: 'id', number: 1, type: 3, label: 1 },
          { name: 'from', jsonName: 'from', number: 2, type: 11, label: 1, typeName: `.${name}.Place` },
          { name: 'extra', jsonName: 'extra', number: 3, type: 11, label: 1, typeName: `.${name}.Ride.Extra` },
        ],
        nestedType: [{ name: 'Extra', field: [{ name: 'note', jsonName: 'note', number: 1, type: 9, label: 1 }] }] },
    ] };
  const files = createFileRegistry(create(FileDescriptorSetSchema, { file: [place, ride] }));
  return { files, ride: files.getMessage(`${name}.Ride`), extra: files.getMessage(`${name}.Ride.Extra`) };
}

test('Protobuf, with an import that is registered as a reference, and nested messages', async () => {
  const topic = uniqueName('rides');
  const { ride, extra, files } = protobufTypes(`taxi${topic.slice(-8)}`);
  const registry = createMutableRegistry(ride, extra, ...files);
  const serializer = new ProtobufSerializer(newClient(), VALUE, { autoRegisterSchemas: true, registry });
  const value = create(ride, { id: 7n, from: { zone: 4 }, extra: { note: 'to the airport' } });
  const written = await serializer.serialize(topic, value);
  const stored = await newClient().getLatestSchemaMetadata(subjectOf(topic));
  assert.equal(written.readInt32BE(1), stored.id);
  assert.equal(stored.schemaType, 'PROTOBUF');
  assert.equal(stored.references.length, 1);
  assert.match(stored.schema, /message Ride \{/);
  assert.ok((await newClient().getAllSubjects()).includes(stored.references[0].subject));
  const read = await new ProtobufDeserializer(newClient(), VALUE, {}).deserialize(topic, written);
  assert.deepEqual([read.id, read.from.zone, read.extra.note], [7n, 4, 'to the airport']);

  const nested = await new ProtobufSerializer(newClient(), VALUE, { useLatestVersion: true, registry }).serialize(topic, create(extra, { note: 'x' }));
  assert.equal((await new ProtobufDeserializer(newClient(), VALUE, {}).deserialize(topic, nested)).note, 'x');
  const again = await new ProtobufSerializer(newClient(), VALUE, { registry }).serialize(topic, value).catch((error) => error);
  assert.deepEqual(again, written);
});

test('Protobuf, with one client for the serializer and the deserializer', async () => {
  const topic = uniqueName('rides');
  const { ride, files } = protobufTypes(`taxi${topic.slice(-8)}`);
  const registry = createMutableRegistry(ride, ...files);
  const value = create(ride, { id: 7n, from: { zone: 4 } });
  for (const choice of [{ autoRegisterSchemas: true }, { autoRegisterSchemas: false }, { useLatestVersion: true }]) {
    const client = newClient();
    for (const _ of [1, 2]) {
      const written = await new ProtobufSerializer(client, VALUE, { ...choice, registry }).serialize(topic, value);
      const read = await new ProtobufDeserializer(client, VALUE, {}).deserialize(topic, written);
      assert.deepEqual([read.id, read.from.zone], [7n, 4]);
    }
  }
});

test('rules that the registry keeps are carried out: a condition in CEL, a migration in JSONata', async () => {
  const topic = uniqueName('rides');
  const rules = new RuleRegistry();
  rules.registerExecutor(new CelExecutor());
  rules.registerExecutor(new JsonataExecutor());
  const condition = { name: 'paid', kind: 'CONDITION', mode: 'WRITE', type: 'CEL', expr: 'message.note != ""' };
  const rename = { name: 'rename', kind: 'TRANSFORM', mode: 'UPGRADE', type: 'JSONATA', expr: "$merge([$sift($, function($v, $k) {$k != 'note'}), {'remark': $.'note'}])" };
  const subject = subjectOf(topic);
  await newClient().updateConfig(subject, { compatibilityGroup: 'major' });
  await newClient().register(subject, { ...record('Ride', ID, NOTE), metadata: { properties: { major: '1' } }, ruleSet: { domainRules: [condition] } });
  const serializer = new AvroSerializer(newClient(), VALUE, { useLatestWithMetadata: { major: '1' } }, rules);
  const written = await serializer.serialize(topic, RIDE);
  await assert.rejects(serializer.serialize(topic, { id: 7, note: '' }), (error) => /paid/.test(String(error)) || error instanceof RuleError);
  const remark = { name: 'remark', type: 'string' };
  await newClient().register(subject, { ...record('Ride', ID, remark), metadata: { properties: { major: '2' } }, ruleSet: { migrationRules: [rename] } });
  const reader = new AvroDeserializer(newClient(), VALUE, { useLatestWithMetadata: { major: '2' } }, rules);
  assert.deepEqual({ ...await reader.deserialize(topic, written) }, { id: 7, remark: 'to the airport' });
});
