// Confluent's JavaScript client, all of its methods.
'use strict';

const assert = require('node:assert/strict');
const { test } = require('node:test');
const { RestError, SchemaRegistryClient } = require('@confluentinc/schemaregistry');
const { URL_OF_REGISTRY, called, newClient, uniqueName, record, ID, NOTE, FARE } = require('./started.cjs');

const refusal = (status, errorCode) => (error) => {
  assert.ok(error instanceof RestError, String(error));
  assert.deepEqual([error.status, error.errorCode], [status, errorCode]);
  return true;
};

test('register, look up, and read back by id, guid, version and latest', async () => {
  const client = newClient();
  const subject = uniqueName('rides/eu value');
  const first = await client.register(subject, record('Ride', ID));
  const full = await client.registerFullResponse(subject, record('Ride', ID, NOTE));
  assert.ok(full.id > first);
  assert.equal(full.version, 2);
  const again = newClient();
  assert.equal(await again.register(subject, record('Ride', ID), true), first);
  const byId = await again.getBySubjectAndId(subject, first);
  assert.equal(byId.schema, record('Ride', ID).schema);
  assert.equal((await again.getByGuid(full.guid)).schema, full.schema);
  assert.equal(await again.getId(subject, record('Ride', ID, NOTE)), full.id);
  const found = await newClient().getIdFullResponse(subject, record('Ride', ID, NOTE));
  assert.deepEqual([found.id, found.guid, found.version, found.subject], [full.id, full.guid, 2, subject]);
  assert.equal((await again.getLatestSchemaMetadata(subject)).version, 2);
  assert.equal((await again.getSchemaMetadata(subject, 1)).id, first);
  assert.deepEqual(await again.getAllVersions(encodeURIComponent(subject)), [1, 2]); // this method does not encode
  assert.equal(await again.getVersion(subject, record('Ride', ID)), 1);
  assert.ok((await again.getAllSubjects()).includes(subject));
});

test('formats are passed on', async () => {
  const client = newClient();
  const [place, ride] = [uniqueName('place'), uniqueName('ride')];
  await client.register(place, record('Place', { name: 'zone', type: 'int' }));
  const schema = { ...record('Ride', { name: 'from', type: 'taxi.Place' }),
    references: [{ name: 'taxi.Place', subject: place, version: 1 }] };
  const { id, guid } = await client.registerFullResponse(ride, schema);
  const reads = [
    await newClient().getBySubjectAndId(ride, id, 'resolved'),
    await newClient().getByGuid(guid, 'resolved'),
    await newClient().getLatestSchemaMetadata(ride, 'resolved'),
    await newClient().getSchemaMetadata(ride, 1, false, 'resolved'),
  ];
  for (const read of reads) assert.match(read.schema, /"zone"/);
  assert.doesNotMatch((await newClient().getSchemaMetadata(ride, 1)).schema, /"zone"/);
  await assert.rejects(newClient().deleteSubject(place), refusal(422, 42206));
});

test('metadata is stored, returned and searched by', async () => {
  const client = newClient();
  const subject = uniqueName('rides');
  for (const [owner, fields] of [['a', [ID]], ['b', [ID, NOTE]]]) {
    await client.register(subject, { ...record('Ride', ...fields), metadata: { properties: { owner }, tags: { id: ['PII'] } } });
  }
  const found = await client.getLatestWithMetadata(subject, { owner: 'a' });
  assert.deepEqual([found.version, found.metadata], [1, { tags: { id: ['PII'] }, properties: { owner: 'a' } }]);
  await assert.rejects(client.getLatestWithMetadata(subject, { owner: 'c' }), refusal(404, 40403));
  await client.deleteSubjectVersion(subject, 1);
  assert.equal((await newClient().getLatestWithMetadata(subject, { owner: 'a' }, true, 'resolved')).version, 1);
});

test('soft, then hard delete, of versions and of subjects', async () => {
  const client = newClient();
  const subject = uniqueName('rides');
  await client.register(subject, record('Ride', ID));
  await client.register(subject, record('Ride', ID, NOTE));
  await assert.rejects(client.deleteSubjectVersion(subject, 2, true), refusal(404, 40407));
  assert.equal(await client.deleteSubjectVersion(subject, 2), 2);
  await assert.rejects(client.deleteSubjectVersion(subject, 2), refusal(404, 40406));
  await assert.rejects(newClient().getSchemaMetadata(subject, 2), refusal(404, 40402));
  assert.equal((await newClient().getSchemaMetadata(subject, 2, true)).version, 2);
  assert.equal(await newClient().getVersion(subject, record('Ride', ID, NOTE), false, true), 2);
  assert.equal(await client.deleteSubjectVersion(subject, 2, true), 2);
  await assert.rejects(client.deleteSubject(subject, true), refusal(404, 40405));
  assert.deepEqual(await client.deleteSubject(subject), [1]);
  await assert.rejects(client.deleteSubject(subject), refusal(404, 40404));
  assert.deepEqual(await client.deleteSubject(subject, true), [1]);
  await assert.rejects(newClient().getLatestSchemaMetadata(subject), refusal(404, 40401));
  await assert.rejects(newClient().getAllVersions(subject), refusal(404, 40401));
});

test('compatibility is tested and enforced', async () => {
  const client = newClient();
  const subject = uniqueName('rides');
  await client.register(subject, record('Ride', ID));
  assert.equal(await client.testSubjectCompatibility(subject, record('Ride', ID, NOTE)), true);
  assert.equal(await client.testCompatibility(subject, 1, record('Ride', ID, FARE)), false);
  await assert.rejects(client.testCompatibility(subject, 2, record('Ride', ID)), refusal(404, 40402));
  await assert.rejects(client.register(subject, record('Ride', ID, FARE)), (error) => {
    assert.deepEqual([error.status, error.errorCode], [409, 40901]);
    return /READER_FIELD_MISSING_DEFAULT_VALUE/.test(error.message);
  });
});

test('config of a subject and of the registry', async () => {
  const client = newClient();
  const subject = uniqueName('rides');
  await assert.rejects(client.getCompatibility(subject), refusal(404, 40408));
  assert.equal(await client.updateCompatibility(subject, 'FULL'), 'FULL');
  assert.equal(await client.getCompatibility(subject), 'FULL');
  const update = { compatibilityGroup: 'major', normalize: true, defaultMetadata: { properties: { team: 'x' } } };
  assert.deepEqual(await client.updateConfig(subject, update), { ...update, compatibility: 'FULL' });
  assert.deepEqual(await client.getConfig(subject), { ...update, compatibilityLevel: 'FULL' });
  await assert.rejects(client.updateCompatibility(subject, 'SIDEWAYS'), refusal(422, 42203));
  const before = await client.getDefaultCompatibility();
  try {
    assert.equal(await client.updateDefaultCompatibility('NONE'), 'NONE');
    assert.equal((await client.getDefaultConfig()).compatibilityLevel, 'NONE');
    assert.equal((await client.updateDefaultConfig({ compatibility: 'FORWARD' })).compatibility, 'FORWARD');
    assert.equal(await client.getDefaultCompatibility(), 'FORWARD');
  } finally {
    await client.updateDefaultCompatibility(before);
  }
});

test('an alias leads to its subject', async () => {
  const client = newClient();
  const [real, alias] = [uniqueName('rides'), uniqueName('alias')];
  await client.register(real, record('Ride', ID));
  await client.updateConfig(alias, { alias: real });
  assert.equal((await client.getLatestSchemaMetadata(alias)).subject, real);
});

test('a context in the address of the client and in the name of a subject', async () => {
  const context = uniqueName('ctx').replaceAll('-', '');
  const inside = newClient({ baseURLs: [`${URL_OF_REGISTRY}/contexts/${context}`] });
  const { id } = await inside.registerFullResponse('rides', record('Ride', ID));
  assert.equal(id, 1);
  assert.deepEqual(await inside.getAllSubjects(), [`:.${context}:rides`]);
  assert.equal((await newClient().getBySubjectAndId(`:.${context}:rides`, 1)).schema, record('Ride', ID).schema);
});

test('wrong schemas and unknown ids are told as what they are', async () => {
  const client = newClient();
  const subject = uniqueName('rides');
  await assert.rejects(client.register(subject, { schemaType: 'AVRO', schema: '{' }), refusal(422, 42201));
  await assert.rejects(client.register(subject, { schemaType: 'XML', schema: '<a/>' }), refusal(422, 42201));
  await assert.rejects(client.getBySubjectAndId(subject, 2147483647), refusal(404, 40403));
  await assert.rejects(client.getByGuid('00000000-0000-0000-0000-000000000000'), refusal(404, 40403));
  await assert.rejects(client.getSchemaMetadata(subject, 0), refusal(422, 42202));
  await assert.rejects(client.getId(subject, record('Ride', ID)), refusal(404, 40401));
  await client.register(subject, record('Ride', ID));
  await assert.rejects(client.getId(subject, record('Ride', NOTE)), refusal(404, 40403));
  const twice = [{ name: 'r', type: 'CEL', expr: 'true' }, { name: 'r', type: 'CEL', expr: 'true' }];
  await assert.rejects(client.register(subject, { ...record('Ride', ID), ruleSet: { domainRules: twice } }), refusal(422, 42210));
});

test('what the client remembers can be forgotten', async () => {
  const client = newClient();
  const subject = uniqueName('rides');
  await client.register(subject, record('Ride', ID));
  assert.equal((await client.getLatestSchemaMetadata(subject)).version, 1);
  await newClient().register(subject, record('Ride', ID, NOTE));
  assert.equal((await client.getLatestSchemaMetadata(subject)).version, 1);
  client.clearLatestCaches();
  assert.equal((await client.getLatestSchemaMetadata(subject)).version, 2);
  client.clearCaches();
  assert.deepEqual(client.config().baseURLs, [URL_OF_REGISTRY]);
  await client.close();
});

test('no method that asks the registry was left out', () => {
  const ofTheCacheAlone = /^(constructor$|addTo|get.*CacheSize$)/;
  const ofAssociations = /Association/;
  const methods = Object.getOwnPropertyNames(SchemaRegistryClient.prototype)
    .filter((name) => !ofTheCacheAlone.test(name) && !ofAssociations.test(name));
  assert.deepEqual(methods.filter((name) => !called.has(name)), []);
});
