// The association methods of Confluent's JavaScript client, and the name strategy that asks for them.
'use strict';

const assert = require('node:assert/strict');
const { test } = require('node:test');
const { RestError, SchemaRegistryClient } = require('@confluentinc/schemaregistry');
const { called, newClient, uniqueName, record, ID, FARE } = require('./started.cjs');

const refusal = (status, errorCode) => (error) => {
  assert.ok(error instanceof RestError, String(error));
  assert.deepEqual([error.status, error.errorCode], [status, errorCode]);
  return true;
};

const request = (topic, ...associations) => ({
  resourceName: topic, resourceNamespace: 'lkc-1', resourceId: `id-of-${topic}`, resourceType: 'topic', associations,
});

test('create, find and delete associations', async () => {
  const client = newClient();
  const topic = uniqueName('rides');
  const owned = { associationType: 'value', lifecycle: 'STRONG', schema: record('Ride', ID) };
  const made = await client.createAssociation(request(topic, owned));
  const subject = `:.lkc-1:${topic}-value`;
  assert.deepEqual(made.associations.map((each) => [each.subject, each.lifecycle]), [[subject, 'STRONG']]);
  assert.equal(made.associations[0].schema.schema, record('Ride', ID).schema);
  assert.deepEqual((await client.createAssociation(request(topic, owned))).associations ?? [], []);
  const other = { ...owned, schema: record('Ride', ID, FARE) };
  await assert.rejects(client.createAssociation(request(topic, other)), refusal(409, 40903));

  const find = (...rest) => client.getAssociationsByResourceName(topic, ...rest);
  const [found] = await find('-', 'topic', ['value'], 'STRONG', 0, -1);
  assert.deepEqual([found.subject, found.resourceId], [subject, `id-of-${topic}`]);
  assert.equal((await find('lkc-1', null, [], null, 0, 10)).length, 1);
  assert.deepEqual(await find('-', 'topic', ['key'], null, 0, -1), []);

  await assert.rejects(client.deleteAssociations(`id-of-${topic}`, 'topic', ['value'], false), refusal(409, 40908));
  await client.deleteAssociations(`id-of-${topic}`, null, null, true);
  assert.deepEqual(await find('-', 'topic', [], null, 0, -1), []);
  await assert.rejects(client.getLatestSchemaMetadata(subject), refusal(404, 40401));
});

test('topics share a subject', async () => {
  const client = newClient();
  const subject = uniqueName('shared');
  await client.register(subject, record('Ride', ID));
  for (const topic of [uniqueName('rides'), uniqueName('tours')]) {
    await client.createAssociation(request(topic, { subject, associationType: 'key' }));
    const [found] = await client.getAssociationsByResourceName(topic, '-', 'topic', ['key'], 'WEAK', 0, -1);
    assert.equal(found.subject, subject);
  }
});

test('no method of associations was left out', () => {
  const methods = Object.getOwnPropertyNames(SchemaRegistryClient.prototype).filter((name) => /Association/.test(name));
  assert.equal(methods.length, 3);
  assert.deepEqual(methods.filter((name) => !called.has(name)), []);
});
