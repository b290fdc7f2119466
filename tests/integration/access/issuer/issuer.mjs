// An OpenID Connect provider on loopback. It prints its address. Tokens of the client "ci" last ten minutes, those of
// "brief" two seconds. With the argument "commands", a line on standard input changes its keys, and the answer is the
// number of keys: "rotate" signs with a new key and still publishes the old ones; "withdraw" publishes the newest key
// alone; the end of the input ends it.
import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

const { default: Provider } = await import(pathToFileURL(`${process.env.NODE_PATH}/oidc-provider/lib/index.js`));

console.info = console.warn = () => {};   // the provider's notes about settings for production

const SECONDS = { ci: 600, brief: 2 };

let keys = [];
let made = 0;
let handle;

function newKey() {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return { ...privateKey.export({ format: 'jwk' }), kid: `key${made++}`, alg: 'ES256', use: 'sig' };
}

function provide(url) {
  handle = new Provider(url, {
    jwks: { keys },
    clients: Object.keys(SECONDS).map((client_id) => ({
      client_id, client_secret: 'a-secret', grant_types: ['client_credentials'],
      redirect_uris: [], response_types: [], id_token_signed_response_alg: 'ES256',
    })),
    extraTokenClaims: () => ({ realm_access: { roles: ['dev', 'ops'] } }),
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => 'urn:registry',
        getResourceServerInfo: (_, __, client) => ({
          scope: 'read', audience: 'schema-registry', accessTokenTTL: SECONDS[client.clientId], accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'ES256' } },
        }),
      },
    },
  }).callback();
}

const server = createServer((request, response) => handle(request, response));
server.listen(0, '127.0.0.1', () => {
  const url = `http://127.0.0.1:${server.address().port}`;
  keys = [newKey()];
  provide(url);
  process.stdout.write(`${url}\n`);
  if (process.argv[2] !== 'commands') return;
  createInterface({ input: process.stdin }).on('line', (line) => {
    keys = line === 'rotate' ? [newKey(), ...keys] : keys.slice(0, 1);
    provide(url);
    process.stdout.write(`${keys.length}\n`);
  }).on('close', () => process.exit(0));
});
