// Reads the golden vectors of `counterfoil generate vectors` from standard input, without a registry: Avro with avsc,
// Protobuf with protobufjs, and JSON. On standard output: the number of vectors whose values are the expected ones, and that
// are written as the same bytes, or in Protobuf, where orders are free, as the same values.
'use strict';

const { readFileSync } = require('node:fs');
const { isDeepStrictEqual } = require('node:util');
const avro = require('avsc');
const protobuf = require('protobufjs');

const REALS = { NaN, Infinity, '-Infinity': -Infinity };

// Longs as BigInt, since JavaScript's numbers do not hold all of them.
const LONG = avro.types.LongType.__with({
  fromBuffer: (buffer) => buffer.readBigInt64LE(),
  toBuffer: (value) => { const buffer = Buffer.alloc(8); buffer.writeBigInt64LE(value); return buffer; },
  fromJSON: BigInt, toJSON: Number, isValid: (value) => typeof value === 'bigint',
  compare: (left, right) => (left < right ? -1 : Number(left > right)),
});

// Return a schema without the logical types of longs, which avsc reads with a type of its own.
function plainLongs(schema) {
  return JSON.parse(JSON.stringify(schema), (_, node) => (node && node.type === 'long' && node.logicalType ? 'long' : node));
}

// Return whether a value of avsc is the expected one; types of unions differ in what their JSON is.
function isExpected(schema, value, expected, types) {
  if (Array.isArray(schema)) {
    if (value === null || expected === null) return value === expected;
    const others = schema.filter((branch) => branch !== 'null');
    const branch = others.find((each) => others.length === 1 || jsonType(resolved(each, types)) === typeof expected);
    return isExpected(branch, value, expected, types);
  }
  const node = resolved(schema, types);
  if (node.logicalType) return true; // avsc returns the base value; its bytes are compared
  switch (node.type) {
    case 'record': return node.fields.every(({ name, type }) => isExpected(type, value[name], expected[name], types));
    case 'array':
      return value.length === expected.length && value.every((item, i) => isExpected(node.items, item, expected[i], types));
    case 'map':
      return isDeepStrictEqual(Object.keys(value), Object.keys(expected))
        && Object.keys(value).every((key) => isExpected(node.values, value[key], expected[key], types));
    case 'bytes': case 'fixed': return Buffer.from(value).toString('base64') === expected;
    case 'long': return Number(value) === expected;
    case 'float': case 'double': return Object.is(value, typeof expected === 'string' ? REALS[expected] : expected);
    default: return value === expected;
  }
}

const jsonType = (node) => ({ int: 'number', long: 'number', record: 'object' })[node.type] || 'string';

const resolved = (one, types) => {
  if (typeof one !== 'string') return typeof one.type === 'object' ? one.type : one;
  return types.get(one) || { type: one };
};

function typesIn(node, types = new Map()) {
  if (node === null || typeof node !== 'object') return types;
  if (node.name && ['record', 'enum', 'fixed'].includes(node.type)) types.set(node.name, node);
  Object.values(node).forEach((each) => typesIn(each, types));
  return types;
}

// --- Protobuf

const WELL_KNOWN = ['timestamp', 'wrappers'].map((name) => protobuf.common.get(`google/protobuf/${name}.proto`));

// Return the first message of a schema.
function firstMessage(text) {
  const root = new protobuf.Root();
  WELL_KNOWN.forEach((file) => root.addJSON(file.nested));
  const { package: name } = protobuf.parse(text, root, { keepCase: true });
  return root.resolveAll().lookup(name).nestedArray.find((each) => each instanceof protobuf.Type);
}

// Return whether a message has the expected fields; those with presence and without a value are not expected.
function isExpectedMessage(type, message, expected) {
  return type.fieldsArray.every((field) => {
    const { name } = field;
    const isThere = Object.hasOwn(expected, name);
    if (field.map) {
      const keys = Object.keys(message[name]);
      return keys.length === Object.keys(expected[name]).length
        && keys.every((key) => isExpectedField(field, message[name][key], expected[name][key]));
    }
    if (field.repeated) {
      return message[name].length === expected[name].length
        && message[name].every((item, i) => isExpectedField(field, item, expected[name][i]));
    }
    const hasPresence = field.partOf !== null || field.resolvedType instanceof protobuf.Type;
    const isSet = Object.hasOwn(message, name) && message[name] !== null;
    if (hasPresence && isSet !== isThere) return false;
    return (hasPresence && !isThere) || isExpectedField(field, message[name], expected[name]);
  });
}

function isExpectedField(field, value, expected) {
  const type = field.resolvedType;
  if (type instanceof protobuf.Enum) return type.valuesById[value] === expected;
  if (type && type.fullName === '.google.protobuf.Timestamp') {
    const [, seconds, fraction] = /^(.*:\d\d)(?:\.(\d+))?\+00:00$/.exec(expected);
    return Number(value.seconds) === Date.parse(`${seconds}Z`) / 1000
      && Math.floor(value.nanos / 1000) === Number((fraction || '').padEnd(6, '0'));
  }
  if (type && /^\.google\.protobuf\.\w+Value$/.test(type.fullName)) return isExpectedField(type.fields.value, value.value, expected);
  if (type) return isExpectedMessage(type, value, expected);
  switch (field.type) {
    case 'bytes': return Buffer.from(value).toString('base64') === expected;
    case 'float': return Object.is(value, Math.fround(typeof expected === 'string' ? REALS[expected] : expected));
    case 'double': return Object.is(value, typeof expected === 'string' ? REALS[expected] : expected);
    case 'string': case 'bool': return value === expected;
    default: return Number(value) === expected;
  }
}

let count = 0;
for (const line of readFileSync(0, 'utf8').split('\n').filter(Boolean)) {
  const vector = JSON.parse(line);
  const body = Buffer.from(vector.bytes_hex, 'hex').subarray(vector.framing.bytes);
  if (vector.format === 'AVRO') {
    const schema = JSON.parse(vector.schema);
    const type = avro.Type.forSchema(plainLongs(schema), { registry: { long: LONG } });
    const value = type.fromBuffer(body);
    if (!isExpected(schema, value, vector.decoded, typesIn(schema))) throw new Error(`${vector.name}: another value`);
    if (!type.toBuffer(value).equals(body)) throw new Error(`${vector.name}: other bytes`);
    count += 1;
  } else if (vector.format === 'PROTOBUF') {
    const type = firstMessage(vector.schema);
    const message = type.decode(body);
    for (const each of [message, type.decode(type.encode(message).finish())]) {
      if (!isExpectedMessage(type, each, vector.decoded)) throw new Error(`${vector.name}: another value`);
    }
    count += 1;
  } else {
    if (!isDeepStrictEqual(JSON.parse(body.toString('utf8')), vector.decoded)) throw new Error(`${vector.name}: another value`);
    count += 1;
  }
}
process.stdout.write(JSON.stringify(count));
