// Confluent's JavaScript client and every way of proving oneself: right, wrong, and ended while the client is used.
'use strict';

const assert = require('node:assert/strict');
const { readFileSync } = require('node:fs');
const { Agent } = require('node:https');
const { join } = require('node:path');
const { test } = require('node:test');
const { RestError, SchemaRegistryClient } = require('@confluentinc/schemaregistry');
const { uniqueName, record, ID } = require('./started.cjs');

const { GUARDED_URL, GUARDED_ADMIN, TOKEN_URL, CERTIFIED_URL, CERTIFICATES } = process.env;
const FORM = { 'Content-Type': 'application/x-www-form-urlencoded' };
const basic = (login) => ({ Authorization: `Basic ${Buffer.from(login).toString('base64')}` });

async function administer(method, path, body) {
  const headers = { ...basic(GUARDED_ADMIN), 'Content-Type': 'application/json' };
  const answer = await fetch(`${GUARDED_URL}/auth/v1/${path}`, { method, headers, body: body && JSON.stringify(body) });
  assert.ok(answer.ok, `${method} ${path}: ${answer.status}`);
  return answer.status === 204 ? undefined : answer.json();
}

async function newUser() {
  const name = uniqueName('caller');
  await administer('PUT', `users/${name}`, { password: 'pass word' });
  return name;
}

async function newToken() {
  const { id, token } = await administer('POST', 'tokens', { owner: `User:${await newUser()}`, name: 'a test' });
  return { id, token, wrong: token.slice(0, -1) + (token.endsWith('a') ? 'b' : 'a') };
}

async function jwt(client) {
  const body = 'grant_type=client_credentials&scope=read';
  const answer = await fetch(TOKEN_URL, { method: 'POST', headers: { ...basic(`${client}:a-secret`), ...FORM }, body });
  return (await answer.json()).access_token;
}

const newClient = (login) => SchemaRegistryClient.newClient({ baseURLs: [GUARDED_URL], maxRetries: 0, ...login });
const user = (userInfo) => newClient({ basicAuthCredentials: { credentialsSource: 'USER_INFO', userInfo } });
const bearer = (credentials) => newClient({
  bearerAuthCredentials: { logicalCluster: 'none', identityPoolId: '', ...credentials },
});
const token = (text) => bearer({ credentialsSource: 'STATIC_TOKEN', token: text });
const oauth = (clientSecret) => bearer({
  credentialsSource: 'OAUTHBEARER', issuerEndpointUrl: TOKEN_URL, clientId: 'brief', clientSecret, scope: 'read',
});

const refusal = (status, errorCode) => (error) => {
  assert.ok(error instanceof RestError, String(error));
  assert.deepEqual([error.status, error.errorCode], [status, errorCode]);
  return true;
};
const isRefused = (client) => assert.rejects(client.getAllSubjects(), refusal(401, 401));

test('without credentials', () => isRefused(newClient({})));

test('a password, until the user is disabled', async () => {
  const name = await newUser();
  const client = user(`${name}:pass word`);
  assert.ok(await client.register(uniqueName('rides'), record('Ride', ID)) > 0);
  await assert.rejects(client.updateDefaultCompatibility('NONE'), refusal(403, 40301));
  await isRefused(user(`${name}:password`));
  await administer('PUT', `users/${name}`, { disabled: true });
  await isRefused(client);
});

async function isAcceptedUntilRevoked(login) {
  const made = await newToken();
  const client = login(made.token);
  assert.ok(Array.isArray(await client.getAllSubjects()));
  await isRefused(login(made.wrong));
  await administer('DELETE', `tokens/${made.id}`);
  await isRefused(client);
}

test('an API token as a password, until it is revoked', () => isAcceptedUntilRevoked((text) => user(`token:${text}`)));

test('an API token as a bearer, until it is revoked', () => isAcceptedUntilRevoked(token));

test('a JWT, until it ends; OAUTHBEARER gets new ones', async () => {
  const granted = oauth('a-secret');
  assert.ok(Array.isArray(await granted.getAllSubjects()));
  const client = token(await jwt('brief'));
  assert.ok(Array.isArray(await client.getAllSubjects()));
  const [header, payload, signature] = (await jwt('ci')).split('.');
  await isRefused(token(`${header}.${payload}.${[...signature].reverse().join('')}`));
  const deadline = Date.now() + 300_000;
  const hasEnded = () => client.getAllSubjects().then(() => false, refusal(401, 401));
  while (!(await hasEnded())) {
    assert.ok(Date.now() < deadline);
    await new Promise((resolve) => { setTimeout(resolve, 100); });
  }
  assert.ok(Array.isArray(await granted.getAllSubjects()));   // its first token has ended, too: it is older
  await assert.rejects(oauth('wrong').getAllSubjects());
});

// A client that trusts an authority and shows a certificate; without a name it has none.
function certified(authority, name, login = {}) {
  const file = (each) => readFileSync(join(CERTIFICATES, each));
  const own = name ? { cert: file(`${name}.crt`), key: file(`${name}.key`) } : {};
  const httpsAgent = new Agent({ ca: file(`${authority}.pem`), ...own });
  return SchemaRegistryClient.newClient({
    baseURLs: [CERTIFIED_URL], maxRetries: 0, createAxiosDefaults: { httpsAgent }, ...login,
  });
}

async function hasNoConnection(client) {
  await assert.rejects(client.getAllSubjects(), (error) => {
    assert.ok(!(error instanceof RestError) && !error.response, String(error));
    return true;
  });
}

test('a certificate: right, wrong, expired, revoked', async () => {
  const client = certified('authority', 'caller');
  assert.ok(await client.register(uniqueName('rides'), record('Ride', ID)) > 0);
  await assert.rejects(client.updateDefaultCompatibility('NONE'), refusal(403, 40301));
  await isRefused(certified('authority', 'nobody'));
  const wrong = { basicAuthCredentials: { credentialsSource: 'USER_INFO', userInfo: 'alice:wrong' } };
  await isRefused(certified('authority', 'caller', wrong));   // the header is the identity
  for (const name of ['stranger', 'expired', 'revoked', '']) await hasNoConnection(certified('authority', name));
  await hasNoConnection(certified('another-authority', 'caller'));   // a server that is not trusted
});
