import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { ConfigError, describeConfig, loadConfig, proxyVariables } from '../../src/settings/config.ts'
import { type Config, SETTING_ROWS } from '../../src/settings/settings.ts'
import { redisOptions } from '../../src/app/store.ts'
import { LIMITS } from '../../src/contract/limits.ts'
import { withoutPassword } from '../../src/store/redis/address.ts'

const directory = mkdtempSync(join(tmpdir(), 'countersign-config-'))
afterAll(() => rmSync(directory, { recursive: true, force: true }))

let files = 0
function file(text: string): string {
  const path = join(directory, `${++files}.txt`)
  writeFileSync(path, text)
  return path
}

const load = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  loadConfig({ args, env, parseYaml: (text) => parse(text) as unknown })

const failure = (args: readonly string[], env: Readonly<Record<string, string>> = {}): string => {
  try {
    load(args, env)
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError)
    return (error as Error).message
  }
  throw new Error('it was accepted')
}

const SECRET = 'a secret of thirty-two characters, or more'

const pemOf = ({ privateKey }: { privateKey: KeyObject }): string =>
  privateKey.export({ format: 'pem', type: 'pkcs8' }).toString().trimEnd()
const PEM = pemOf(generateKeyPairSync('ed25519'))

const SLACK = {
  slackAppToken: 'xapp-1-A0-1-a',
  slackBotToken: 'xoxb-1-a',
  slackClientId: '1.2',
  slackClientSecret: 'secret',
}

describe('the source of a setting', () => {
  it('defaults are safe: loopback only, the limits of the contract, no admin key', () => {
    const { config, origins } = load([])
    expect(config).toMatchObject({
      host: '127.0.0.1',
      port: 8787,
      store: { kind: 'embedded', path: './data', shown: 'file:./data' },
      storeReplicas: 0,
      tilesPathStyle: 'false',
      policies: './policies',
      metricsHost: '127.0.0.1',
      metricsPort: 9464,
      logLevel: 'info',
      bodyLimit: LIMITS.BODY_BYTES,
      storeDeadline: LIMITS.STORE_DEADLINE_MS,
      connections: 16_384,
      connectionsPerAddress: 4_096,
      storeMinFree: 64 * 1024 * 1024,
      storeNewCallsMinFree: 256 * 1024 * 1024,
      budgetWaitingPerAgent: 10_000,
      budgetWaitingPerTenant: 50_000,
      budgetBytesPerDay: 32 * 1024 ** 3,
      budgetIdempotencyRecords: 5_000_000,
      budgetSessionsPerReviewer: 100,
      budgetSessionsPerTenant: 10_000,
      policyRescan: 1_000,
      sessionIdle: 1_800_000,
      sessionLifetime: 28_800_000,
      oidcScopes: 'openid email profile',
      oidcReviewerClaim: 'email',
      chatLinkLifetime: 2_592_000_000,
    })
    expect(config).not.toHaveProperty('adminKey')
    expect(new Set(Object.values(origins))).toEqual(new Set(['default']))
  })

  it('flag over environment over file over default', () => {
    const yaml = file('port: 1\nhost: file.test\nlog_level: warn\n')
    const env = { COUNTERSIGN_PORT: '2', COUNTERSIGN_HOST: 'env.test' }
    const { config, origins } = load(['--config', yaml, '--port', '3'], env)
    expect([config.port, config.host, config.logLevel, config.metricsPort]).toEqual([
      3,
      'env.test',
      'warn',
      9464,
    ])
    expect([origins.port, origins.host, origins.logLevel, origins.metricsPort]).toEqual([
      'flag',
      'environment',
      'file',
      'default',
    ])
  })

  it('the configuration file comes from the flag, then from COUNTERSIGN_CONFIG', () => {
    const [one, two] = [file('port: 1\n'), file('port: 2\n')]
    expect(load([], { COUNTERSIGN_CONFIG: one }).config.port).toBe(1)
    expect(load(['--config', two], { COUNTERSIGN_CONFIG: one }).config.port).toBe(2)
  })

  it.each(SETTING_ROWS.map((row) => [row.key, row] as const))(
    '%s by flag, environment and file',
    (key, row) => {
      const given: Partial<Record<keyof Config, string>> = {
        store: 'file:x',
        storeAccept: 'eviction',
        webhooksAllow: '127.0.0.1/32:8443',
        trustedProxies: '10.0.0.0/8',
        metricsNames: 'metrics.example.com',
        signingKey: PEM,
        publicUrl: 'https://a.example',
        tiles: 's3://bucket/logs',
        tilesEndpoint: 'https://s3.example',
        oidcIssuer: 'https://b.example',
        oidcScopes: 'openid',
        oidcTenant: 'acme',
        ...SLACK,
        slackServer: 'http://127.0.0.1:8790',
        otlpEndpoint: 'http://127.0.0.1:4318',
        deployment: 'staging',
        acceptClock: '2026-11-27',
        storeExpect: 'existing',
        durability: 'async',
        logLevel: 'silent',
      }
      const value = given[key] ?? row.default ?? SECRET
      // These two go together.
      const beside: Record<string, string> =
        key === 'oidcIssuer'
          ? { COUNTERSIGN_OIDC_CLIENT_ID: 'x' }
          : key === 'oidcClientId'
            ? { COUNTERSIGN_OIDC_ISSUER: 'https://b.example' }
            : key in SLACK
              ? Object.fromEntries(
                  SETTING_ROWS.flatMap((one) =>
                    one.key !== key && one.key in SLACK
                      ? [[one.variable, SLACK[one.key as keyof typeof SLACK]]]
                      : [],
                  ),
                )
              : {}
      const of = (args: string[], env: Record<string, string>) => {
        const { config, texts, origins } = load(args, { ...beside, ...env })
        expect(config[key]).toEqual(row.parse(value))
        return [texts[key], origins[key]]
      }
      const path = file(`${row.name}: ${JSON.stringify(value)}\n`)
      expect(of([`--${row.flag}=${value}`], {})).toEqual([value, 'flag'])
      expect(of([], { [row.variable]: value })).toEqual([value, 'environment'])
      expect(of(['--config', path], {})).toEqual([value, 'file'])
    },
  )

  it('ignores an empty variable', () => {
    expect(load([], { COUNTERSIGN_PORT: '', COUNTERSIGN_ADMIN_KEY: '' }).config).toEqual(load([]).config)
  })

  it('leaves other arguments to the command', () => {
    expect(load(['serve', '--port', '1', 'x']).positionals).toEqual(['serve', 'x'])
  })
})

describe('secrets', () => {
  it('may be read from a file that FILE names, without its last line end', () => {
    const { config, origins } = load([], { COUNTERSIGN_ADMIN_KEY_FILE: file(`${SECRET}\n`) })
    expect([config.adminKey, origins.adminKey]).toEqual([SECRET, 'environment'])
  })

  it('secrets are refused when both ways are used, and when the file is unreadable or too short', () => {
    const both = { COUNTERSIGN_ADMIN_KEY: SECRET, COUNTERSIGN_ADMIN_KEY_FILE: file(SECRET) }
    expect(failure([], both)).toContain('use one')
    expect(failure([], { COUNTERSIGN_ADMIN_KEY_FILE: join(directory, 'none') })).toMatch(
      /^cannot read `\S+none`, named by `COUNTERSIGN_ADMIN_KEY_FILE`: ENOENT: no such file or directory$/,
    )
    // what a container engine makes of a file to mount that is not there
    expect(failure([], { COUNTERSIGN_ADMIN_KEY_FILE: directory })).toMatch(/_FILE`: EISDIR: .* directory$/)
    const short = 'short-secret-canary'
    for (const message of [
      failure([], { COUNTERSIGN_ADMIN_KEY: short }),
      failure([], { COUNTERSIGN_ADMIN_KEY_FILE: file(short) }),
      failure(['--admin-key', short]),
      failure(['--config', file(`admin_key: ${short}\n`)]),
    ]) {
      expect(message).toContain('at least 32 characters')
      expect(message).not.toContain(short)
    }
  })

  it('refuses an admin key that no caller could send', () => {
    const carried = 'with spaces, a\ttab and "signs": ~!'
    expect(load([], { COUNTERSIGN_ADMIN_KEY: carried }).config.adminKey).toBe(carried)
    for (const wrong of [`${SECRET}\n`, ` ${SECRET}`, `${SECRET}ü`, `${SECRET.slice(1)}\u0000${SECRET}`]) {
      const message = failure([], { COUNTERSIGN_ADMIN_KEY: wrong })
      expect(message).toMatch(/^COUNTERSIGN_ADMIN_KEY: the value is sent in a header/)
      expect(message).not.toContain(SECRET.slice(1))
    }
    expect(failure([], { COUNTERSIGN_ADMIN_KEY_FILE: file(`\uFEFF${SECRET}`) })).toContain('printable ASCII')
  })

  it('accepts only an Ed25519 key for signing evidence', () => {
    const good = `${PEM}\n`
    const { texts, config } = load([], { COUNTERSIGN_SIGNING_KEY_FILE: file(good) })
    expect([texts.signingKey, typeof config.signingKey]).toEqual([good.trimEnd(), 'object'])
    for (const wrong of [pemOf(generateKeyPairSync('x25519')), 'signing-canary', good.slice(0, -30)]) {
      const message = failure([], { COUNTERSIGN_SIGNING_KEY_FILE: file(wrong) })
      expect(message).toContain('COUNTERSIGN_SIGNING_KEY: this is not an Ed25519 private key as PEM')
      expect(message).not.toContain(wrong.slice(0, 12))
    }
  })

  it('refuses FILE for a setting that is not secret, because it would have no effect', () => {
    expect(failure([], { COUNTERSIGN_STORE_FILE: file('redis://elsewhere') })).toBe(
      '`COUNTERSIGN_STORE_FILE`: only secrets may be in a file; use `COUNTERSIGN_STORE`',
    )
  })

  it('secrets are masked where the configuration is printed, and other settings show their source', () => {
    const lines = describeConfig(load(['--port', '1'], { COUNTERSIGN_ADMIN_KEY: SECRET }))
    expect(JSON.stringify(lines)).not.toContain(SECRET)
    expect(lines).toContainEqual({ name: 'COUNTERSIGN_ADMIN_KEY', value: '********', origin: 'environment' })
    expect(lines).toContainEqual({ name: 'COUNTERSIGN_PORT', value: '1', origin: 'flag' })
    expect(lines.map(({ name }) => name)).toHaveLength(SETTING_ROWS.length)
    expect(describeConfig(load([])).find(({ name }) => name === 'COUNTERSIGN_ADMIN_KEY')?.value).toBe('')
  })
})

describe('a refused configuration', () => {
  it.each([
    [['--port', '65536'], '--port'],
    [['--port', '-1'], ''],
    [['--port', '1.5'], '--port'],
    [['--port', '0x10'], '--port'],
    [['--port', ''], '--port'],
    [['--log-level', 'loud'], '--log-level'],
    [['--body-limit', '1023'], '--body-limit'],
    [['--store-deadline', '49'], '--store-deadline'],
    [['--store-deadline', '60001'], '--store-deadline'],
    [['--policy-rescan', '99'], '--policy-rescan'],
    [['--host', ''], '--host'],
    [['--no-such-setting', 'x'], 'no-such-setting'],
    [['--port'], 'port'],
  ])('%j, with its place', (args, named) => {
    expect(failure(args)).toContain(named)
  })

  it('values of the environment and of the file, with the names that they have there', () => {
    expect(failure([], { COUNTERSIGN_PORT: 'x' })).toContain('COUNTERSIGN_PORT')
    const path = file('body_limit: many\n')
    expect(failure(['--config', path])).toContain(`body_limit in ${path}: `)
    expect(failure(['--config', file('host: 7\n')])).toContain('must be text')
    expect(failure(['--config', file('port: 1.5\n')])).toContain('whole number')
    expect(failure(['--config', file('port: null\n')])).toContain('whole number')
  })

  it.each(['prot: 1\n', '__proto__: 1\n', 'constructor: 1\n', 'adminKey: x\n'])(
    'refuses the unknown setting of %j',
    (text) => {
      expect(failure(['--config', file(text)])).toMatch(/unknown setting|expected settings/)
    },
  )

  it('suggests the setting for a flag or file entry with a small typo', () => {
    expect(failure(['--polices', 'x'])).toBe('unknown option `--polices`; did you mean `--policies`?')
    expect(failure(['--nonsense', 'x'])).toMatch(/^Unknown option '--nonsense'/)
    expect(failure(['--config', file('metricsPort: 1\n')])).toMatch(
      /: unknown setting `metricsPort`; did you mean `metrics_port`\?$/,
    )
    expect(failure(['--config', file('nonsense: 1\n')])).toMatch(
      /: unknown setting `nonsense`; known are host, /,
    )
  })

  it.each(['- port\n', 'text\n', '', '7\n'])('a file that contains no settings: %j', (text) => {
    expect(failure(['--config', file(text)])).toContain('expected settings')
  })

  it('a file that is not YAML: by its place, without its content', () => {
    const broken = (cause: Error): string => {
      const parseYaml = (): never => {
        throw cause
      }
      const args = ['--config', file('store_password: *secret-canary\n')]
      try {
        loadConfig({ args, env: {}, parseYaml })
      } catch (error) {
        expect(error).toBeInstanceOf(ConfigError)
        return (error as Error).message
      }
      return ''
    }
    const linePos = [{ line: 3, col: 7 }]
    expect(broken(Object.assign(new Error('at secret-canary'), { linePos }))).toMatch(
      /is not YAML at line 3, column 7; put text with special characters in quotes$/,
    )
    expect(broken(new ReferenceError('Unresolved alias: secret-canary'))).toMatch(
      /is not YAML; put text with/,
    )
  })

  it('refuses a missing configuration file', () => {
    expect(failure(['--config', join(directory, 'none.yaml')])).toMatch(
      /^cannot read the configuration file `\S+none.yaml`: ENOENT: no such file or directory$/,
    )
  })

  it('state inside the policies, also through a link, whether it exists yet or not', () => {
    const [policies, link] = [join(directory, 'bundle'), join(directory, 'link')]
    mkdirSync(policies)
    symlinkSync(policies, link)
    const refused = (store: string, bundle: string): string =>
      failure(['--store', `file:${store}`, '--policies', bundle])
    expect(refused(join(policies, 'data'), link)).toContain('inside the policy directory')
    expect(refused(join(link, 'not', 'yet'), policies)).toContain('inside the policy directory')
    expect(refused(link, policies)).toContain('inside the policy directory')
    expect(refused(join(directory, 'data'), '/')).toContain('inside the policy directory')
    const beside = load(['--store', `file:${join(directory, 'link-data')}`, '--policies', link])
    expect(beside.config.policies).toBe(link)
  })

  it('unsafe combinations: state inside the policies, an unknown store, an engine that prints payloads', () => {
    expect(failure(['--store', 'file:./policies/data'])).toContain('inside the policy directory')
    expect(failure(['--store', 'file:./policies'])).toContain('inside the policy directory')
    expect(failure(['--store', 'file:./a/../policies/x'])).toContain('inside the policy directory')
    expect(load(['--store', 'file:./policies-data']).config.store.shown).toBe('file:./policies-data')
    expect(failure(['--store', 'mysql://x'])).toContain('not known')
    expect(failure(['--store', './data'])).toContain('not known')
    for (const DEBUG of ['json-rules-engine', '*', 'http,json-rules-engine:*']) {
      expect(failure([], { DEBUG })).toContain('DEBUG')
    }
    expect(load([], { DEBUG: 'http' }).config.port).toBe(8787)
  })

  it.each([
    ['redis://h:0', 'not a host and port'],
    ['redis://h:6379,i:6379', 'redis+cluster'],
    ['redis://h/x', 'number of a database'],
    ['redis+cluster://h/0', 'leave the path out'],
    ['redis+sentinel://h', 'name of the primary'],
    ['redis://:p%zz@h', 'hex digits'],
    ['mysql://u:secret-canary@h', 'not known'],
    ['REDIS://:secret-canary@h', '`REDIS:` is not known'],
    ['redis:/:secret-canary@h', '`redis:` is not known'],
    ['secret-canary', 'an address without a scheme'],
    ['redis://:secret-canary', 'host 1 of the address is not a host and port'],
    ['redis://user:secret-canary', 'host 1 of the address is not a host and port'],
    ['redis://h:6379?password=secret-canary', 'host 1 of the address is not a host and port'],
    ['redis+cluster://a,u:secret-canary', 'host 2 of the address is not a host and port'],
  ])('the store %s', (store, why) => {
    expect(failure(['--store', store])).toContain(why)
    expect(failure(['--store', store])).not.toContain('secret-canary')
  })

  it('an unknown name in the list of accepted Redis settings', () => {
    expect(failure(['--store', 'redis://h', '--store-accept', 'everything'])).toContain('known are eviction')
  })

  it.each([
    ['countersign.example', 'must be an origin'],
    ['ftp://countersign.example', 'must be an origin'],
    ['https://countersign.example/console', 'must be an origin'],
    ['https://countersign.example/?a', 'must be an origin'],
    ['https://user@countersign.example', 'must be an origin'],
  ])('the public URL %s', (url, why) => {
    expect(failure(['--public-url', url])).toContain(why)
  })

  it('accepts a public URL with a final slash, with or without TLS', () => {
    for (const url of [
      'https://a.example',
      'https://a.example/',
      'https://A.example:443',
      'http://a.example:8080',
    ])
      expect(load(['--public-url', url]).config.publicUrl).toBe(url)
  })

  const client = ['--oidc-client-id', 'x']
  it.each([
    [['--oidc-issuer', 'https://a.example'], 'it needs oidc_client_id'],
    [client, 'it needs oidc_issuer'],
    [['--oidc-client-secret', 's', '--oidc-issuer', 'https://a.example'], 'it needs oidc_client_id'],
    [[...client, '--oidc-issuer', 'a.example'], 'must be the https URL'],
    [[...client, '--oidc-issuer', 'http://a.example'], 'must be the https URL'],
    [[...client, '--oidc-issuer', 'http://127.0.0.1.evil.example'], 'must be the https URL'],
    [[...client, '--oidc-issuer', 'https://a.example/?x=1'], 'must be the https URL'],
    [
      [...client, '--oidc-issuer', 'https://a.example/.well-known/openid-configuration'],
      'must be the https URL',
    ],
    [[...client, '--oidc-issuer', 'https://u:p@a.example'], 'must be the https URL'],
    [[...client, '--oidc-issuer', 'https://a.example', '--oidc-scopes', 'email profile'], '`openid` must be'],
    [[...client, '--oidc-issuer', 'https://a.example', '--oidc-tenant', 'A B'], 'not a name of a tenant'],
  ])('single sign-on settings that cannot work: %j', (args, why) => {
    expect(failure(args)).toContain(why)
  })

  it('accepts an issuer without TLS on this machine only', () => {
    for (const issuer of [
      'http://127.0.0.1:9',
      'http://localhost:9',
      'http://[::1]:9',
      'https://a.example/x',
    ])
      expect(load([...client, '--oidc-issuer', issuer]).config.oidcIssuer).toBe(issuer)
  })

  it.each([
    [{ slackBotToken: SLACK.slackBotToken }, 'slack_bot_token: it needs slack_app_token as well'],
    [{ ...SLACK, slackClientId: '' }, 'slack_app_token: it needs slack_client_id as well'],
    [{ ...SLACK, slackAppToken: SLACK.slackBotToken }, 'must begin with xapp-'],
    [{ ...SLACK, slackBotToken: 'xoxb-1\r\nx: y' }, 'must begin with xoxb-'],
    [{ ...SLACK, slackServer: 'https://slack.example' }, 'must be an http origin on this machine'],
    [{ ...SLACK, slackServer: 'http://127.0.0.1.evil.example' }, 'must be an http origin on this machine'],
  ])('settings of Slack that cannot work: %j', (given, why) => {
    const env = SETTING_ROWS.map((row) => [row.variable, (given as Record<string, string>)[row.key]])
    expect(failure([], Object.fromEntries(env) as Record<string, string>)).toContain(why)
  })

  it('a store setting without a directory', () => {
    expect(failure(['--store', 'file:'])).toContain('store')
    expect(load(['--store', 'file:/var/lib/x']).config.store).toMatchObject({ path: '/var/lib/x' })
  })
})

describe('where Redis is', () => {
  const address = (args: string[]): unknown => redisOptions(load(args).config).address

  it('one server, a cluster, or sentinels, with and without TLS, ports and passwords', () => {
    expect(address(['--store', 'redis://h'])).toEqual({
      kind: 'single',
      tls: false,
      hosts: [{ host: 'h', port: 6379 }],
    })
    expect(address(['--store', 'rediss+cluster://u:p%40ss@a:1,[::1]:2'])).toEqual({
      kind: 'cluster',
      tls: true,
      hosts: [
        { host: 'a', port: 1 },
        { host: '::1', port: 2 },
      ],
      username: 'u',
      password: 'p@ss',
    })
    expect(address(['--store', 'redis+sentinel://a,b:7/main'])).toEqual({
      kind: 'sentinel',
      tls: false,
      hosts: [
        { host: 'a', port: 26_379 },
        { host: 'b', port: 7 },
      ],
      master: 'main',
    })
    expect(
      address(['--store', 'redis://h/3', '--store-username', 'u', '--store-password', 's']),
    ).toMatchObject({
      database: 3,
      username: 'u',
      password: 's',
    })
  })

  it('is never shown with its password', () => {
    const lines = describeConfig(load(['--store', 'redis://u:p@ss@h:1/2', '--store-password', 'canary']))
    expect(lines).toContainEqual({
      name: 'COUNTERSIGN_STORE',
      value: 'redis://u:********@h:1/2',
      origin: 'flag',
    })
    expect(JSON.stringify(lines)).not.toMatch(/p@ss|canary/)
    const shown = {
      'rediss+sentinel://u:canary@a,b/m': 'rediss+sentinel://u:********@a,b/m',
      'REDIS://:canary@h': 'REDIS://:********@h',
      'redis:/:canary@h': '********@h',
      'file:./at@home:1': 'file:./at@home:1',
      'redis://h:1': 'redis://h:1',
    }
    for (const [address, wanted] of Object.entries(shown)) expect(withoutPassword(address)).toBe(wanted)
  })
})

describe('networks of trusted proxies', () => {
  it('trusted proxies are addresses and networks of IPv4 and IPv6', () => {
    const text = '10.0.0.0/8, 192.0.2.1,2001:db8::/32'
    const { trustedProxies } = load(['--trusted-proxies', text]).config
    const isTrusted = (address: string): boolean | undefined =>
      trustedProxies?.check(address, address.includes(':') ? 'ipv6' : 'ipv4')
    expect(['10.9.9.9', '192.0.2.1', '192.0.2.2', '2001:db8::7', '::1'].map(isTrusted)).toEqual([
      true,
      true,
      false,
      true,
      false,
    ])
  })
  it.each(['10.0.0.0/33', '10.0.0/8', 'proxy.example', '::1/129', '10.0.0.0/8/8', '10.0.0.0/', '10.0.0.0/x'])(
    'refuses %s',
    (text) => {
      expect(failure(['--trusted-proxies', text])).toContain('is not a network')
    },
  )
})

describe('the variables that Kubernetes sets for a Service', () => {
  const LINKS = {
    COUNTERSIGN_PORT: 'tcp://10.0.0.1:8787',
    COUNTERSIGN_METRICS_PORT: 'tcp://10.0.0.1:9464',
    COUNTERSIGN_SERVICE_HOST: '10.0.0.1',
  }
  it('is reported and ignored, though it has the name of a setting', () => {
    const { config, links, unknown } = load([], LINKS)
    expect([config.port, config.metricsPort]).toEqual([8787, 9464])
    expect([links, unknown]).toEqual([['COUNTERSIGN_PORT', 'COUNTERSIGN_METRICS_PORT'], []])
    expect(load(['--port', '1'], LINKS).config.port).toBe(1)
    expect(failure([], { COUNTERSIGN_PORT: 'x' })).toContain('whole number')
  })
})

describe('accepts an address in brackets', () => {
  it.each([
    ['[::]', '::'],
    ['[::1]', '::1'],
    ['127.0.0.1', '127.0.0.1'],
  ])('%s is %s', (text, host) => {
    expect(load(['--host', text, '--metrics-host', text]).config).toMatchObject({ host, metricsHost: host })
  })
})

it('finds the variables of an outgoing proxy, and reports that they have no effect', () => {
  const env = {
    HTTPS_PROXY: 'http://p.example',
    http_proxy: '',
    NO_PROXY: 'x',
    all_proxy: 'http://q.example',
  }
  expect(proxyVariables(env)).toEqual(['HTTPS_PROXY', 'all_proxy'])
})

/** Gathers the budgets. */
const BUDGETS_OF = 'settings/settings.ts'

it('each setting is read by the part that it is for', () => {
  const src = fileURLToPath(new URL('../../src', import.meta.url))
  const texts = readdirSync(src, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name) && (!name.startsWith('settings/') || name === BUDGETS_OF))
    .map((name) => readFileSync(join(src, name), 'utf8'))
  /** `config.key`, and the members of a pattern that takes a configuration apart. */
  const read = texts.flatMap((text) => [
    ...[...text.matchAll(/\bconfig\.(\w+)/g)].map(([, key]) => key),
    ...[...text.matchAll(/\{([^{}]*)\}(?:: (?:Config|Pick<Config)\b| = config\n)/g)].flatMap(
      ([, pattern = '']) => pattern.match(/\w+/g) ?? [],
    ),
  ])
  expect(SETTING_ROWS.map(({ key }) => key).filter((key) => !read.includes(key))).toEqual([])
})
