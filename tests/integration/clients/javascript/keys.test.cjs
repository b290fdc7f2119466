// Confluent's JavaScript client of the DEK registry, and the encryption of fields that rests on it.
'use strict';

const assert = require('node:assert/strict');
const { test } = require('node:test');
const {
  AvroDeserializer, AvroSerializer, DekRegistryClient, EncryptionExecutor, FieldEncryptionExecutor, LocalKmsDriver, RestError,
  RuleRegistry, SerdeType,
} = require('@confluentinc/schemaregistry');
const { URL_OF_REGISTRY, newClient, uniqueName, record, ID } = require('./started.cjs');

const { VALUE } = SerdeType;
const AES = 'AES256_GCM';
const called = new Set();

function newKeys() {
  const client = DekRegistryClient.newClient({ baseURLs: [URL_OF_REGISTRY], cacheCapacity: 100, maxRetries: 0 });
  return new Proxy(client, {
    get(target, name) {
      const value = target[name];
      if (typeof value !== 'function') return value;
      called.add(name);
      return value.bind(target);
    },
  });
}

const refusal = (status, errorCode) => (error) => {
  assert.ok(error instanceof RestError, String(error));
  assert.deepEqual([error.status, error.errorCode], [status, errorCode]);
  return true;
};

test('keys are registered, read back, and refused with their codes', async () => {
  const keys = newKeys();
  const [kek, subject] = [uniqueName('kek'), uniqueName('rides/eu value')];
  const made = await keys.registerKek(kek, 'local-kms', 'mykey', false, { region: 'here' }, 'for tests');
  assert.deepEqual([made.name, made.kmsType, made.kmsKeyId, made.kmsProps, made.doc, made.shared],
    [kek, 'local-kms', 'mykey', { region: 'here' }, 'for tests', false]);
  assert.equal(typeof made.ts, 'number');
  assert.deepEqual(await newKeys().getKek(kek), made);
  assert.deepEqual(await newKeys().getKek(kek, true), made);
  await assert.rejects(newKeys().registerKek(kek, 'local-kms', 'other', false), refusal(409, 40971));
  await assert.rejects(newKeys().getKek(uniqueName('kek')), refusal(404, 40470));
  await assert.rejects(newKeys().registerKek('1 kek', 'local-kms', 'mykey', false), refusal(422, 42271));

  const material = Buffer.from('a wrapped key').toString('base64');
  const dek = await keys.registerDek(kek, subject, AES, 1, material);
  assert.deepEqual([dek.kekName, dek.subject, dek.version, dek.algorithm, dek.encryptedKeyMaterial], [kek, subject, 1, AES, material]);
  const second = await keys.registerDek(kek, subject, AES, 2, material);
  assert.deepEqual(await newKeys().getDek(kek, subject, AES), dek);
  assert.deepEqual(await newKeys().getDek(kek, subject, AES, -1), second);
  assert.deepEqual(await newKeys().getDek(kek, subject, AES, 2, true), second);
  assert.equal((await keys.getDekEncryptedKeyMaterialBytes(dek)).toString(), 'a wrapped key');
  assert.equal(await keys.getDekKeyMaterialBytes(dek), null);
  await keys.setDekKeyMaterial(dek, Buffer.from('a key'));
  assert.equal((await keys.getDekKeyMaterialBytes(dek)).toString(), 'a key');
  await assert.rejects(newKeys().registerDek(kek, subject, AES, 1, Buffer.from('other').toString('base64')), refusal(409, 40971));
  await assert.rejects(newKeys().registerDek(kek, uniqueName('rides'), AES), refusal(422, 42271));
  await assert.rejects(newKeys().getDek(kek, subject, 'AES128_GCM'), refusal(404, 40470));
  await assert.rejects(newKeys().getDek(kek, subject, 'ROT13'), refusal(404, 404));
  assert.deepEqual(keys.config().baseURLs, [URL_OF_REGISTRY]);
  await keys.close();
});

test('tagged fields are encrypted with keys of this registry, and read with them again', async () => {
  LocalKmsDriver.register();
  const [topic, kek] = [uniqueName('rides'), uniqueName('kek')];
  const name = { name: 'name', type: 'string', 'confluent:tags': ['PII'] };
  const rule = (type, more) => ({ name: 'hide', kind: 'TRANSFORM', mode: 'WRITEREAD', type, onFailure: 'ERROR,NONE',
    params: { 'encrypt.kek.name': kek, 'encrypt.kms.type': 'local-kms', 'encrypt.kms.key.id': 'mykey' }, ...more });
  await newClient().register(`${topic}-value`, { ...record('Ride', ID, name), ruleSet: { domainRules: [rule('ENCRYPT', { tags: ['PII'] })] } });
  const settings = { useLatestVersion: true, ruleConfig: { secret: 'mysecret' } };
  const withRule = (executor) => {
    const rules = new RuleRegistry();
    rules.registerExecutor(executor);
    return rules;
  };
  const written = await new AvroSerializer(newClient(), VALUE, settings, withRule(new FieldEncryptionExecutor())).serialize(topic, { id: 7, name: 'Ada' });
  assert.ok(!written.includes('Ada'));
  const reader = new AvroDeserializer(newClient(), VALUE, { ruleConfig: { secret: 'mysecret' } }, withRule(new FieldEncryptionExecutor()));
  assert.deepEqual({ ...await reader.deserialize(topic, written) }, { id: 7, name: 'Ada' });
  assert.equal((await newKeys().getKek(kek)).kmsType, 'local-kms');
  assert.equal((await newKeys().getDek(kek, `${topic}-value`, AES)).version, 1);

  const whole = uniqueName('rides');
  await newClient().register(`${whole}-value`, { ...record('Ride', ID), ruleSet: { encodingRules: [rule('ENCRYPT_PAYLOAD')] } });
  const sealed = await new AvroSerializer(newClient(), VALUE, settings, withRule(new EncryptionExecutor())).serialize(whole, { id: 7 });
  const opener = new AvroDeserializer(newClient(), VALUE, { ruleConfig: { secret: 'mysecret' } }, withRule(new EncryptionExecutor()));
  assert.deepEqual({ ...await opener.deserialize(whole, sealed) }, { id: 7 });
});

test('no method that asks the registry was left out', () => {
  const ofTheCacheAlone = new Set(['constructor', 'createDek', 'checkLatestDekInCache']);
  const methods = Object.getOwnPropertyNames(DekRegistryClient.prototype).filter((name) => !ofTheCacheAlone.has(name));
  assert.deepEqual(methods.filter((name) => !called.has(name)), []);
});
