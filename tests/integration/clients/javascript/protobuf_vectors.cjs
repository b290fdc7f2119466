// Reads framed Protobuf messages with Confluent's JavaScript deserializer, and writes the same messages with its serializer.
// On standard input: a FileDescriptorSet in base64, and messages with topic, full name, JSON, and the frame that is read, or
// null. On standard output: for each message the type and the JSON that were read, and the frame that was written.
'use strict';

const { readFileSync } = require('node:fs');
const { createFileRegistry, createMutableRegistry, fromBinary, fromJson, toJson } = require('@bufbuild/protobuf');
const { FileDescriptorSetSchema } = require('@bufbuild/protobuf/wkt');
const { ProtobufDeserializer, ProtobufSerializer, SerdeType } = require('@confluentinc/schemaregistry');
const { newClient } = require('./started.cjs');

const { VALUE } = SerdeType;

async function main() {
  const { files, messages } = JSON.parse(readFileSync(0, 'utf8'));
  const known = createFileRegistry(fromBinary(FileDescriptorSetSchema, Buffer.from(files, 'base64')));
  const registry = createMutableRegistry(...known);
  const results = [];
  for (const { topic, name, frame, json } of messages) {
    const type = known.getMessage(name);
    let read = null;
    if (frame !== null) {
      const message = await new ProtobufDeserializer(newClient(), VALUE, {}).deserialize(topic, Buffer.from(frame, 'base64'));
      read = { type: message.$typeName, json: toJson(known.getMessage(message.$typeName), message, { registry }) };
    }
    const serializer = new ProtobufSerializer(newClient(), VALUE, { useLatestVersion: true, registry });
    const written = await serializer.serialize(topic, fromJson(type, json, { registry }));
    results.push({ read, written: written.toString('base64') });
  }
  process.stdout.write(JSON.stringify(results));
}

main();
