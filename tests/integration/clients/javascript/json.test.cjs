// The golden JSON messages of the SDK: Confluent's JavaScript serializers read them, and write the same bytes.
'use strict';

const assert = require('node:assert/strict');
const { readFileSync } = require('node:fs');
const { join } = require('node:path');
const { test } = require('node:test');
const { HeaderSchemaIdSerializer, JsonDeserializer, JsonSerializer, SerdeType } = require('@confluentinc/schemaregistry');
const { newClient, uniqueName } = require('./started.cjs');

const { VALUE } = SerdeType;
const MESSAGES = JSON.parse(readFileSync(join(__dirname, '..', '..', '..', 'data', 'serde', 'json.json'), 'utf8'))
  .filter((one) => one.name !== 'integers of 64 bits'); // which are no numbers of JavaScript
const bytesOf = (hex) => Buffer.from(hex.replaceAll(' ', ''), 'hex');

// Registers the schema of a message and what it refers to; the names stay, the subjects are nobody else's.
async function registered(message, topic) {
  const references = [];
  for (const one of message.references ?? []) {
    const subject = uniqueName(one.subject);
    await newClient().register(subject, { schemaType: 'JSON', schema: one.schema });
    references.push({ name: one.name, subject, version: 1 });
  }
  return newClient().registerFullResponse(`${topic}-value`, { schemaType: 'JSON', schema: message.schema, references });
}

test('golden messages are written and read', async () => {
  for (const message of MESSAGES) {
    const topic = uniqueName('rides');
    const { id } = await registered(message, topic);
    const framed = Buffer.concat([Buffer.alloc(5), Buffer.from(message.body)]);
    framed.writeInt32BE(id, 1);
    const serializer = new JsonSerializer(newClient(), VALUE, { useLatestVersion: true });
    assert.deepEqual(await serializer.serialize(topic, message.value), framed, message.name);
    const read = await new JsonDeserializer(newClient(), VALUE, {}).deserialize(topic, framed);
    assert.deepEqual(read, message.value, message.name);
  }
});

test('golden headers are written and read', async () => {
  for (const message of MESSAGES.filter((one) => !one.references)) { // a guid depends on the subjects of the references
    const topic = uniqueName('rides');
    await registered(message, topic);
    const headers = {};
    const settings = { useLatestVersion: true, schemaIdSerializer: HeaderSchemaIdSerializer };
    const body = await new JsonSerializer(newClient(), VALUE, settings).serialize(topic, message.value, headers);
    assert.deepEqual(body, Buffer.from(message.body), message.name);
    assert.deepEqual(headers.__value_schema_id, bytesOf(message.header), message.name);
    const read = await new JsonDeserializer(newClient(), VALUE, {}).deserialize(topic, body, headers);
    assert.deepEqual(read, message.value, message.name);
  }
});
