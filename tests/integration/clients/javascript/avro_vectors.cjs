// Reads framed Avro messages with Confluent's JavaScript deserializer, and writes their values with its serializer.
// On standard input: messages with topic and frame in base64. On standard output: the frames that were written.
'use strict';

const { readFileSync } = require('node:fs');
const { AvroDeserializer, AvroSerializer, SerdeType } = require('@confluentinc/schemaregistry');
const { newClient } = require('./started.cjs');

const { VALUE } = SerdeType;

async function main() {
  const written = [];
  for (const { topic, frame } of JSON.parse(readFileSync(0, 'utf8'))) {
    const value = await new AvroDeserializer(newClient(), VALUE, {}).deserialize(topic, Buffer.from(frame, 'base64'));
    const again = await new AvroSerializer(newClient(), VALUE, { useLatestVersion: true }).serialize(topic, value);
    written.push(again.toString('base64'));
  }
  process.stdout.write(JSON.stringify(written));
}

main();
