import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { loadConfig } from '../../src/settings/config.ts'
import { startGateway } from '../fault/gateway.ts'

const directory = mkdtempSync(join(tmpdir(), 'cs-idle-'))
afterAll(() => rmSync(directory, { recursive: true, force: true }))

const idle = (env: Record<string, string>, args: readonly string[] = []): string[] =>
  loadConfig({ env, args, parseYaml: parse }).withoutEffect.map(({ name, counts }) => `${name}: ${counts}`)

const ON_REDIS = {
  COUNTERSIGN_STORE_USERNAME: 'countersign',
  COUNTERSIGN_STORE_PASSWORD: 'a',
  COUNTERSIGN_SENTINEL_PASSWORD: 'b',
  COUNTERSIGN_STORE_REPLICAS: '2',
  COUNTERSIGN_DURABILITY: 'async',
  COUNTERSIGN_STORE_ACCEPT: 'eviction',
}
const EMBEDDED = { COUNTERSIGN_STORE_MIN_FREE: '1000' }
const SIGN_IN = {
  COUNTERSIGN_OIDC_CLIENT_SECRET: 'c',
  COUNTERSIGN_OIDC_SCOPES: 'openid',
  COUNTERSIGN_OIDC_REVIEWER_CLAIM: 'sub',
  COUNTERSIGN_OIDC_GROUPS_CLAIM: 'groups',
  COUNTERSIGN_OIDC_TENANT: 'acme',
  COUNTERSIGN_OIDC_LABEL: 'Acme',
}
const allWith = (env: object, counts: string): string[] =>
  Object.keys(env).map((name) => `${name}: ${counts}`)

describe('a setting that has no effect with the others', () => {
  it('is named with the setting that it needs: all Redis and sign-in settings, for the embedded store alone', () => {
    expect(idle({ ...ON_REDIS, ...EMBEDDED, ...SIGN_IN })).toEqual([
      ...allWith(ON_REDIS, 'with a store on Redis'),
      ...allWith(SIGN_IN, 'with an identity provider (oidc_issuer)'),
    ])
  })

  it('is not reported when the setting that it needs is there', () => {
    const provider = {
      COUNTERSIGN_OIDC_ISSUER: 'https://login.example',
      COUNTERSIGN_OIDC_CLIENT_ID: 'gateway',
    }
    const env = { COUNTERSIGN_STORE: 'redis://127.0.0.1', ...ON_REDIS, ...provider, ...SIGN_IN }
    expect(idle(env)).toEqual([])
    expect(idle({ ...env, ...EMBEDDED })).toEqual(
      allWith(EMBEDDED, 'with the embedded store (file:<directory>)'),
    )
  })

  it('is named for tiles in S3 where tiles are elsewhere', () => {
    const inS3 = { COUNTERSIGN_TILES_ENDPOINT: 'https://s3.example', COUNTERSIGN_TILES_REGION: 'eu-west-1' }
    expect(idle(inS3)).toEqual(allWith(inS3, 'with tiles in S3 (tiles: s3://...)'))
    expect(idle({ ...inS3, COUNTERSIGN_TILES: 's3://bucket/logs' })).toEqual([])
  })

  it('is not reported when it repeats the default', () => {
    expect(idle({ COUNTERSIGN_STORE_REPLICAS: '0', COUNTERSIGN_OIDC_REVIEWER_CLAIM: 'email' })).toEqual([])
  })

  it('is named as it was written', () => {
    const file = join(directory, 'settings.yaml')
    writeFileSync(file, 'oidc_tenant: acme\n')
    expect(idle({}, ['--config', file, '--store-replicas', '1'])).toEqual([
      '--store-replicas: with a store on Redis',
      `oidc_tenant in ${file}: with an identity provider (oidc_issuer)`,
    ])
  })

  it('is logged by a gateway that starts', async () => {
    const gateway = await startGateway({ directory, through: ['env', 'COUNTERSIGN_STORE_REPLICAS=2'] })
    gateway.hangUp()
    const { lines } = await gateway.process.kill('SIGTERM')
    expect(lines.map((line) => JSON.parse(line) as object)).toContainEqual(
      expect.objectContaining({
        level: 'warn',
        setting: 'COUNTERSIGN_STORE_REPLICAS',
        msg: 'the setting has no effect: it applies only with a store on Redis',
      }),
    )
  })
})
