import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseRedisAddress } from '../../../src/store/redis/address.ts'
import { openRedisArchive } from '../../../src/store/redis/archive.ts'
import { openRedisStore } from '../../../src/store/redis/store.ts'
import { StoreIndeterminate } from '../../../src/store/store.ts'
import { ensureProgram } from '../../debian.ts'
import { freePort } from '../../ports.ts'
import { type RedisServer, startRedis } from '../../redis/server.ts'
import { commitOf } from '../commit-of.ts'
import { execFileSync } from '../../sync-child.ts'

const root = new URL('../../../', import.meta.url).pathname

describe('the user of docs/redis.md', () => {
  let server: RedisServer
  let rules: string[]
  beforeAll(async () => {
    const [line = ''] = /^user countersign .*$/m.exec(readFileSync(join(root, 'docs/redis.md'), 'utf8')) ?? []
    rules = line.replace('>PASSWORD', '>sesame').split(' ').slice(1)
    server = await startRedis()
    await server.ask('ACL', 'SETUSER', ...rules)
  })
  afterAll(() => server.dispose())

  it('has all permissions that a store needs, and Redis reports no denied command', async () => {
    const address = parseRedisAddress(`redis://countersign:sesame@127.0.0.1:${server.port}/1`)
    const store = await openRedisStore({ address })
    const watching = store.watch('t', AbortSignal.timeout(20_000), { type: 'thread', id: 'a' })
    const guards = [
      { type: 'thread', id: 'a', revision: 0 },
      { epoch: await store.epoch('t') },
      { limit: 'l', windowMs: 1_000, amount: 1, atMost: 5 },
    ]
    const writes = [
      { op: 'put', type: 'thread', id: 'a', body: 'x' },
      { op: 'delete', type: 'thread', id: 'b' },
      { op: 'index', index: 'i', member: 'm', to: 1 },
      { op: 'index', index: 'i', member: 'n' },
      { op: 'mark', index: 'k' },
      { op: 'charge', limit: 'l', windowMs: 1_000, at: store.now(), amount: 1 },
      { op: 'charge', limit: 'gone', windowMs: 1_000, at: 0, amount: 1 },
    ] as const
    expect(await store.commit('t', commitOf(store, { guards, writes, events: ['e'] }))).toMatchObject({
      ok: true,
    })
    await watching
    expect(await store.range('t', 'i', { limit: 9, after: { score: 0, member: '' } })).toHaveLength(1)
    expect(await store.claimDue('t', 'i', { now: 5, lease: 5, limit: 5 })).toHaveLength(1)
    expect(await store.events('t', 0, 5)).toHaveLength(1)
    expect(await server.ask('ACL', 'LOG')).toBe('')
    await store.close()
  })

  it('measures the store', async () => {
    const address = parseRedisAddress(`redis://countersign:sesame@127.0.0.1:${server.port}/2`)
    const store = await openRedisStore({ address })
    const writes = [
      { op: 'put', type: 'thread', id: 'a', body: 'x' },
      { op: 'index', index: 'i', member: 'm', to: 1 },
    ] as const
    await store.commit('t', commitOf(store, { writes, events: ['e'] }))
    await store.close()
    const archive = await openRedisArchive({ address })
    const kinds: string[] = []
    for await (const page of archive.pages()) kinds.push(...page.map(({ entry }) => entry.kind))
    expect(kinds.toSorted()).toEqual(['event', 'index', 'record'])
    await archive.close()
  })

  it('equals the user of deploy/redis/users.acl', () => {
    const deployed = /^user countersign .* (-@all .*)$/m.exec(
      readFileSync(join(root, 'deploy/redis/users.acl'), 'utf8'),
    )
    expect(deployed?.[1]).toBe(rules.slice(rules.indexOf('-@all')).join(' '))
  })

  it.each([
    '-evalsha',
    '-xrange',
    '-xadd',
    '-xdel',
    '-zadd',
    '-hset',
    '-spublish',
    'resetchannels',
    'resetkeys',
  ])('is refused with %s, because a commit would stop half-way', async (without) => {
    await server.ask('ACL', 'SETUSER', 'poor', 'reset', ...rules.slice(1), without)
    const address = parseRedisAddress(`redis://poor:sesame@127.0.0.1:${server.port}`)
    await expect(openRedisStore({ address })).rejects.toThrow('the user may not run')
  })

  it('is refused without WAIT where replicas must confirm, and only there', async () => {
    await server.ask('ACL', 'SETUSER', 'alone', 'reset', ...rules.slice(1), '-wait')
    const address = parseRedisAddress(`redis://alone:sesame@127.0.0.1:${server.port}/3`)
    await expect(openRedisStore({ address, replicas: 1 })).rejects.toThrow('the user may not run WAIT')
    await (await openRedisStore({ address })).close()
  })

  it('leaves the outcome of a commit unknown, never "nothing was changed", when it loses a permission later', async () => {
    await server.ask('ACL', 'SETUSER', 'losing', 'reset', ...rules.slice(1))
    const store = await openRedisStore({
      address: parseRedisAddress(`redis://losing:sesame@127.0.0.1:${server.port}/2`),
    })
    await server.ask('ACL', 'SETUSER', 'losing', '-zadd')
    const writes = [
      { op: 'put', type: 'thread', id: 'a', body: 'x' },
      { op: 'index', index: 'i', member: 'm', to: 1 },
    ] as const
    await expect(store.commit('t', commitOf(store, { writes }))).rejects.toBeInstanceOf(StoreIndeterminate)
    await store.close()
  })

  it('still commits without permission to publish, because a message may be lost', async () => {
    await server.ask('ACL', 'SETUSER', 'mute', 'reset', ...rules.slice(1))
    const store = await openRedisStore({
      address: parseRedisAddress(`redis://mute:sesame@127.0.0.1:${server.port}/3`),
    })
    await server.ask('ACL', 'SETUSER', 'mute', '-spublish')
    const writes = [{ op: 'put', type: 'thread', id: 'a', body: 'x' }] as const
    expect(await store.commit('t', commitOf(store, { writes, events: ['e'] }))).toEqual({
      ok: true,
      numbers: [1],
    })
    await store.close()
  })

  it('has no other permission', async () => {
    for (const command of [
      ['FLUSHALL'],
      ['KEYS', '*'],
      ['CONFIG', 'SET', 'appendonly', 'no'],
      ['GET', 'other'],
      ['SHUTDOWN'],
    ])
      expect(await server.ask('ACL', 'DRYRUN', 'countersign', ...command), command.join(' ')).toMatch(
        /permission/,
      )
  })
})

describe('TLS', () => {
  let directory: string
  let server: RedisServer
  let port: number
  beforeAll(async () => {
    ensureProgram('openssl', 'openssl')
    directory = mkdtempSync(join(tmpdir(), 'countersign-tls-'))
    const files = ['-keyout', join(directory, 'key.pem'), '-out', join(directory, 'cert.pem')]
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
    execFileSync(
      'openssl',
      ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', ...files, ...subject],
      { stdio: 'ignore' },
    )
    port = await freePort()
    server = await startRedis({
      config: {
        'tls-port': String(port),
        'tls-cert-file': join(directory, 'cert.pem'),
        'tls-key-file': join(directory, 'key.pem'),
        'tls-auth-clients': 'no',
      },
    })
  })
  afterAll(async () => {
    await server.dispose()
    rmSync(directory, { recursive: true, force: true })
  })

  /** The first line that the program logs or complains with, and then it is ended. */
  async function serve(host: string, authorities?: string): Promise<string> {
    const settings = [
      '--store',
      `rediss://${host}:${port}`,
      '--port',
      '0',
      '--metrics-port',
      '0',
      '--policies',
      join(root, 'policies'),
    ]
    const child = spawn(process.execPath, [join(root, 'dist/bin/main.js'), 'serve', ...settings], {
      env: {
        ...process.env,
        COUNTERSIGN_ADMIN_KEY: 'k'.repeat(32),
        ...(authorities === undefined ? {} : { NODE_EXTRA_CA_CERTS: authorities }),
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const line = await new Promise<string>((resolve) => {
      const errors: string[] = []
      createInterface(child.stdout).on('line', (text) => text.includes('"listening"') && resolve(text))
      createInterface(child.stderr).on('line', (text) => void errors.push(text))
      child.once('exit', () => resolve(errors.join('\n')))
    })
    child.kill()
    return line
  }

  it('is used with a server whose certificate has an authority in NODE_EXTRA_CA_CERTS', async () => {
    expect(await serve('localhost', join(directory, 'cert.pem'))).toContain('"durability":"fsync"')
  })

  it('is refused without that authority, and under another name', async () => {
    expect(await serve('localhost')).toMatch(/cannot start.*self.signed certificate/s)
    expect(await serve('127.0.0.1', join(directory, 'cert.pem'))).toMatch(/cannot start.*altnames/s)
  })
})
