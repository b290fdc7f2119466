// What the tests beside this file begin with: the client against the registry under test, and names that are nobody else's.
'use strict';

const { randomUUID } = require('node:crypto');
const { SchemaRegistryClient } = require('@confluentinc/schemaregistry');

const URL_OF_REGISTRY = process.env.REGISTRY_URL;
if (!URL_OF_REGISTRY) throw new Error('REGISTRY_URL names the registry to test');

const called = new Set();

// A client that keeps nothing from the test before, and notes which of its methods are called.
function newClient(settings = {}) {
  const client = SchemaRegistryClient.newClient({
    baseURLs: [URL_OF_REGISTRY], cacheCapacity: 512, maxRetries: 0, ...settings,
  });
  return new Proxy(client, {
    get(target, name) {
      const value = target[name];
      if (typeof value !== 'function') return value;
      called.add(name);
      return value.bind(target);
    },
  });
}

const uniqueName = (stem) => `${stem}-${randomUUID().slice(0, 8)}`;

const record = (name, ...fields) => ({
  schemaType: 'AVRO',
  schema: JSON.stringify({ type: 'record', name, namespace: 'taxi', fields }),
});

const ID = { name: 'id', type: 'long' };
const NOTE = { name: 'note', type: 'string', default: '' };
const FARE = { name: 'fare', type: 'double' };

module.exports = { URL_OF_REGISTRY, called, newClient, uniqueName, record, ID, NOTE, FARE };
