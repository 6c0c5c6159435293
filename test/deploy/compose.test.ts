import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { SETTING_ROWS } from '../../src/settings/settings.ts'
import { ensureProgram, INSTALL_MS, run } from '../debian.ts'
import { stages } from './dockerfile.ts'
import { at, lines, type Loose, read, temporaryDirectory, yaml } from './files.ts'

const compose = yaml('deploy/compose/compose.yaml')
const services = Object.entries(compose.services as Record<string, Loose>)
const gateways = services.filter(([, { image }]) => image.startsWith('countersign:'))
const example = Object.fromEntries(
  lines(read('deploy/compose/.env.example'))
    .filter((line) => !line.startsWith('#'))
    .map((line) => line.split('=') as [string, string]),
)
let secrets: string

beforeAll(async () => {
  ensureProgram('docker-compose', 'docker-compose')
  secrets = join(await temporaryDirectory(), 'secrets')
  expect(run('sh', [at('deploy/secrets.sh'), secrets])).toEqual({ status: 0, out: '', err: '' })
}, INSTALL_MS)

const check = (env: Record<string, string>) =>
  run('docker-compose', ['--file', at('deploy/compose/compose.yaml'), 'config'], { cwd: secrets, env })

describe('compose.yaml', () => {
  it('passes the check of docker compose', () => {
    const { status, err } = check({ ...example, SECRETS_DIR: secrets })
    expect({ status, err }).toEqual({ status: 0, err: '' })
  })

  it('does not start until the paths of secrets and policies are set', () => {
    const { SECRETS_DIR = '', POLICIES_DIR = '' } = example
    for (const env of [
      { SECRETS_DIR, POLICIES_DIR: '' },
      { SECRETS_DIR: '', POLICIES_DIR },
    ]) {
      const { status, err } = check(env)
      expect([status === 0, err]).toEqual([false, expect.stringContaining('copy .env.example to .env first')])
    }
  })

  it('needs no variables except those of .env.example', () => {
    const asked = [...read('deploy/compose/compose.yaml').matchAll(/(?<!\$)\$\{(\w+)/g)].map(
      (match) => match[1] ?? '',
    )
    expect([...new Set([...asked, 'COMPOSE_PROJECT_NAME'])].toSorted()).toEqual(
      Object.keys(example).toSorted(),
    )
  })

  it('lets no service write to its image, keep a capability or gain a privilege', () => {
    for (const [name, service] of services) {
      const { read_only, cap_drop, security_opt, pids_limit, privileged, cap_add } = service
      expect({ read_only, cap_drop, security_opt, privileged, cap_add, pids_limit }, name).toEqual({
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
        pids_limit: 256,
        privileged: undefined,
        cap_add: undefined,
      })
    }
  })

  it('bounds the log of each service, so that a flood cannot fill the disk of Redis', () => {
    for (const [name, { logging }] of services)
      expect(logging, name).toEqual({
        driver: 'json-file',
        options: { 'max-size': expect.stringMatching(/^\d+m$/), 'max-file': expect.stringMatching(/^\d$/) },
      })
  })

  it('checks the health of every service', () => {
    for (const [name, { healthcheck }] of services.filter((one) => !gateways.includes(one))) {
      expect(healthcheck?.test?.length, name).toBeGreaterThan(1)
    }
    expect(gateways.map(([, { healthcheck }]) => healthcheck as unknown)).toEqual([undefined, undefined])
    expect(stages()[1].instructions.map(({ keyword }) => keyword)).toContain('HEALTHCHECK')
  })

  it('publishes only the front, on the loopback', () => {
    const published = services.flatMap(([name, { ports = [] }]) =>
      (ports as string[]).map((port) => [name, port] as const),
    )
    expect(published.length).toBe(2)
    for (const [name, port] of published)
      expect([name, port]).toEqual(['front', expect.stringMatching(/^127\.0\.0\.1:/)])
  })

  it('lets only the front reach beyond its own networks', () => {
    const networks = compose.networks as Record<string, { internal?: boolean } | null>
    const open = Object.keys(networks).filter((name) => networks[name]?.internal !== true)
    expect(open).toEqual(['edge'])
    expect(services.filter(([, service]) => service.networks.includes('edge')).map(([name]) => name)).toEqual(
      ['front'],
    )
    const withStore = services
      .filter(([, service]) => service.networks.includes('store'))
      .map(([name]) => name)
    expect(withStore.toSorted()).toEqual([...gateways.map(([name]) => name), 'redis'].toSorted())
  })

  it('mounts only files that exist', () => {
    for (const [name, { volumes = [] }] of services) {
      for (const volume of volumes as string[]) {
        const [source = ''] = volume.split(':')
        if (source.startsWith('.')) {
          expect(existsSync(at(join('deploy/compose', source))), `${name}: ${source}`).toBe(true)
          expect(volume.endsWith(':ro'), volume).toBe(true)
        } else if (!source.startsWith('$')) expect(Object.keys(compose.volumes as object)).toContain(source)
      }
    }
  })

  it('gives both gateways one volume for the tiles, so that old evidence leaves Redis', () => {
    const places = gateways.map(([, { environment, volumes }]) => {
      const [volume = '', path = ''] = (volumes as string[]).at(-1)?.split(':') ?? []
      return [volume, (environment.COUNTERSIGN_TILES as string).startsWith(`file:${path}/`)]
    })
    expect(places).toEqual([
      ['tiles', true],
      ['tiles', true],
    ])
  })

  it('passes secrets only as files that secrets.sh creates', () => {
    const made = Object.entries(compose.secrets as Record<string, { file: string }>)
    for (const [name, { file }] of made) {
      expect(file.endsWith(`/${name}`), file).toBe(true)
      expect(existsSync(join(secrets, name)), name).toBe(true)
    }
    for (const [service, { environment = {}, secrets: given = [] }] of services) {
      for (const [variable, value] of Object.entries(environment as Record<string, string>)) {
        if (!/PASSWORD|KEY|SECRET/.test(variable)) continue
        expect(variable, service).toMatch(/_FILE$/)
        expect(given, `${service}: ${variable}`).toContain(value.replace('/run/secrets/', ''))
      }
    }
  })

  it('has two equal gateways, with enough time to end', () => {
    expect(gateways.map(([name]) => name)).toEqual(['gateway-1', 'gateway-2'])
    expect(gateways[0]?.[1]).toEqual(gateways[1]?.[1])
    expect(Number.parseInt(gateways[0]?.[1].stop_grace_period as string, 10)).toBeGreaterThan(10)
  })

  it('matches the addresses that the front and Prometheus use', () => {
    const servers = [...read('deploy/compose/haproxy.cfg').matchAll(/^ {2}server (\S+) (\S+)/gm)].map(
      ([, , to]) => to,
    )
    const port = (key: string): unknown => SETTING_ROWS.find((setting) => setting.key === key)?.default
    const names = gateways.map(([name]) => name)
    expect(servers).toEqual([...names.map((name) => `${name}:${String(port('port'))}`), 'grafana:3000'])
    const [{ targets }] = yaml('deploy/prometheus/prometheus.yaml').scrape_configs[0].static_configs
    expect(targets).toEqual(names.map((name) => `${name}:${String(port('metricsPort'))}`))
  })
})

describe('secrets.sh', () => {
  it('names the missing argument, and so do the scripts of Redis', () => {
    for (const script of ['deploy/secrets.sh', 'deploy/redis/acl.sh', 'deploy/redis/cluster/create.sh']) {
      const { status, err } = run('sh', [at(script)])
      expect([script, status]).toEqual([script, 1])
      expect(err).toMatch(/^(secrets|acl|create)\.sh: name the /)
    }
  })

  const names = ['admin-key', 'redis-password', 'redis-admin-password', 'grafana-admin-password']
  const contents = (): string[] => names.map((name) => readFileSync(join(secrets, name), 'utf8'))

  it('creates long secrets, all different, in a directory that only its owner can read', () => {
    expect(statSync(secrets).mode & 0o777).toBe(0o700)
    for (const content of contents()) expect(content).toMatch(/^[0-9a-f]{64}$/)
    expect(new Set(contents()).size).toBe(names.length)
  })

  it('keeps secrets that already exist', () => {
    const before = contents()
    const acl = readFileSync(join(secrets, 'users.acl'), 'utf8')
    expect(run('sh', [at('deploy/secrets.sh'), secrets]).status).toBe(0)
    expect(contents()).toEqual(before)
    expect(readFileSync(join(secrets, 'users.acl'), 'utf8')).toBe(acl)
  })

  it('writes only hashes of passwords into the list of users', () => {
    const acl = readFileSync(join(secrets, 'users.acl'), 'utf8')
    for (const content of contents()) expect(acl).not.toContain(content)
    expect(acl).toMatch(/^user countersign on resetpass #[0-9a-f]{64} /m)
  })
})
