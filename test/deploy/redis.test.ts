import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runCli } from '../cli/run.ts'
import { startProcess } from '../crash.ts'
import { ensureProgram, INSTALL_MS, run } from '../debian.ts'
import { until } from '../until.ts'
import { at, lines, read, temporaryDirectory, yaml, yamlDocuments } from './files.ts'
import { freePort } from '../ports.ts'
import { aclFile, clusterPorts, endAll, type Node, PASSWORDS, startNode, startRaw } from './redis-server.ts'

const MAIN = at('dist/bin/main.js')

let directory: string

beforeAll(async () => {
  ensureProgram('redis-server', 'redis-server')
  directory = await temporaryDirectory()
}, INSTALL_MS)
afterAll(endAll)

const countersign = { user: 'countersign', password: PASSWORDS.countersign }
const settingsOf = (path: string): Record<string, string> =>
  Object.fromEntries(
    lines(read(path))
      .filter((line) => !line.startsWith('#'))
      .map((line) => [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1)]),
  )

describe('every redis.conf', () => {
  it.each(['redis.conf', 'sentinel/redis.conf', 'cluster/redis.conf'])(
    '%s keeps every answered write',
    (name) => {
      expect(settingsOf(`deploy/redis/${name}`)).toMatchObject({
        appendonly: 'yes',
        appendfsync: 'always',
        'no-appendfsync-on-rewrite': 'no',
        'maxmemory-policy': 'noeviction',
        aclfile: '/etc/redis/users.acl',
      })
    },
  )

  it.each(['sentinel/redis.conf', 'cluster/redis.conf'])(
    '%s stops a primary that loses its replicas',
    (name) => {
      expect(settingsOf(`deploy/redis/${name}`)).toMatchObject({
        'min-replicas-to-write': '1',
        'min-replicas-max-lag': '10',
      })
    },
  )
})

describe('redis.conf and users.acl', () => {
  let node: Node
  beforeAll(async () => {
    node = await startNode({
      directory,
      port: await freePort(),
      config: 'redis.conf',
      users: ['countersign', 'admin'],
    })
  })

  it('redis.conf and users.acl start with the settings that they contain', () => {
    const asked = ['appendonly', 'appendfsync', 'maxmemory-policy', 'maxmemory', 'save']
    const answers = asked.map((name) => node.ask(['CONFIG', 'GET', name]).slice(1).join(''))
    expect(answers).toEqual(['yes', 'always', 'noeviction', String(1024 ** 3), ''])
  })

  const MAY: readonly (readonly string[])[] = [
    ['EVAL', 'return 1', '1', 'cs:k'],
    ['EVALSHA', 'e0e1f9fabfc9d4800c877a703b823ac0578ff8db', '1', 'cs:k'],
    ['GET', 'cs:k'],
    ['ZRANGE', 'cs:z', '0', '1'],
    ['XRANGE', 'cs:x', '-', '+'],
    ['INFO'],
    ['CONFIG', 'GET', 'appendonly'],
    ['TIME'],
    ['WAIT', '1', '100'],
    ['HELLO', '3'],
    ['SSUBSCRIBE', 'cs:wake'],
    ['SPUBLISH', 'cs:wake', ''],
    ['ASKING'],
    ['SELECT', '1'],
    ['CLUSTER', 'INFO'],
    ['CLUSTER', 'SLOTS'],
  ]
  const MAY_NOT: readonly (readonly string[])[] = [
    ['GET', 'other'],
    ['SCRIPT', 'LOAD', 'return 1'],
    ['MGET', 'cs:a', 'cs:b'],
    ['HGETALL', 'cs:h'],
    ['ROLE'],
    ['SUBSCRIBE', 'cs:wake'],
    ['PUBLISH', 'cs:wake', '1'],
    ['CLUSTER', 'SHARDS'],
    ['CLUSTER', 'MYID'],
    ['CLIENT', 'SETNAME', 'gateway'],
    ['SET', 'other', '1'],
    ['EVAL', 'return 1', '1', 'other'],
    ['SUBSCRIBE', 'other'],
    ['PUBLISH', 'other', '1'],
    ['FLUSHALL'],
    ['FLUSHDB'],
    ['KEYS', '*'],
    ['CONFIG', 'SET', 'appendonly', 'no'],
    ['CONFIG', 'REWRITE'],
    ['DEBUG', 'SLEEP', '1'],
    ['SHUTDOWN'],
    ['REPLICAOF', 'NO', 'ONE'],
    ['CLUSTER', 'FAILOVER'],
    ['CLIENT', 'KILL', 'TYPE', 'normal'],
    ['MONITOR'],
    ['SAVE'],
    ['BGREWRITEAOF'],
    ['ACL', 'LIST'],
    ['ACL', 'SETUSER', 'countersign', '+@all'],
    ['MODULE', 'LOAD', 'x'],
    ['MIGRATE', 'h', '1', 'cs:k', '0', '1'],
    ['RESTORE', 'cs:k', '0', 'x'],
    ['SORT', 'cs:k'],
    ['SWAPDB', '0', '1'],
  ]

  it.each(MAY)('redis.conf and users.acl let the gateway %s %s', (...command) => {
    expect(node.ask(['ACL', 'DRYRUN', 'countersign', ...command])).toEqual(['OK'])
  })

  it.each(MAY_NOT)('redis.conf and users.acl do not let the gateway %s %s', (...command) => {
    expect(node.ask(['ACL', 'DRYRUN', 'countersign', ...command]).join('')).toMatch(
      /no permissions|has no permission/i,
    )
  })

  it("redis.conf and users.acl let a script of the gateway write only the gateway's keys", () => {
    const script =
      "redis.call('HSET', KEYS[1], 'b', ARGV[1]) redis.call('XADD', KEYS[2], '1-0', 'e', 'x') return redis.call('TIME')[1]"
    expect(node.ask(['EVAL', script, '2', 'cs:{t:acme}:r', 'cs:{t:acme}:ev', '1'], countersign)[0]).toMatch(
      /^\d+$/,
    )
    expect(node.ask(['HGET', 'cs:{t:acme}:r', 'b'], countersign)).toEqual(['1'])
    const hidden = "return redis.call('SET', 'other', '1')"
    expect(node.ask(['EVAL', hidden, '1', 'cs:k'], countersign).join('')).toMatch(
      /can't access at least one of the keys/,
    )
    expect(node.ask(['EXISTS', 'other'])).toEqual(['0'])
  })

  it('redis.conf and users.acl refuse a connection without a password, or with a wrong one', () => {
    const anonymous = run('redis-cli', ['-p', String(node.port), 'get', 'cs:k'])
    expect(anonymous.out + anonymous.err).toContain('NOAUTH')
    expect(node.ask(['GET', 'cs:k'], { user: 'countersign', password: 'wrong' }).join('')).toContain('NOAUTH')
    expect(node.ask(['GET', 'cs:k'], { user: 'replica', password: '' }).join('')).toContain('NOAUTH')
  })

  it('redis.conf and users.acl let the health check only ping', () => {
    const health = { user: 'health', password: 'health' }
    expect(node.ask(['PING'], health)).toEqual(['PONG'])
    expect(node.ask(['GET', 'cs:k'], health).join('')).toContain('NOPERM')
    expect(node.ask(['INFO'], health).join('')).toContain('NOPERM')
  })

  const as = (user: 'countersign' | 'admin'): string[] => [
    '--store-username',
    user,
    '--store-password',
    PASSWORDS[user],
  ]
  const database = (number: number): string[] => ['--store', `redis://127.0.0.1:${node.port}/${number}`]

  /** A gateway makes its store there. */
  async function serveOnce(number: number): Promise<void> {
    const free = ['--port', '0', '--metrics-port', '0', '--policies', at('policies')]
    const gateway = startProcess(MAIN, ['serve', ...database(number), ...as('countersign'), ...free])
    await gateway.lineWhere((line) => line.includes('"msg":"listening"'))
    await gateway.kill('SIGTERM')
  }

  it("redis.conf and users.acl let the gateway's user make no backup, and let `admin` make one", async () => {
    await serveOnce(3)
    const store = database(3)
    const file = join(directory, 'backup')
    const refused = await runCli(['store', 'export', file, ...store, ...as('countersign')], {
      cwd: directory,
    })
    expect([refused.code, refused.err]).toEqual([1, expect.stringMatching(/NOPERM[^]*\n\n.*docs\/store\.md/)])
    const made = await runCli(['store', 'export', file, ...store, ...as('admin')], { cwd: directory })
    expect([made.code, made.err]).toEqual([0, ''])
    const back = await runCli(['store', 'restore', file, ...database(4), ...as('admin')], { cwd: directory })
    expect([back.code, back.err]).toEqual([0, ''])
  })

  it('redis.conf and users.acl lose no answered write when the server is killed', async () => {
    expect(node.ask(['SET', 'cs:kept', 'yes'], countersign)).toEqual(['OK'])
    await node.kill('SIGKILL')
    await node.restart()
    expect(node.ask(['GET', 'cs:kept'], countersign)).toEqual(['yes'])
  })

  it('redis.conf and users.acl are exported from a copy with the commands of docs/store.md, and every approval survives', async () => {
    await serveOnce(5)
    const epoch = (): string | undefined =>
      node.ask(['INFO', 'replication']).find((line) => line.startsWith('master_replid:'))
    const [before, saved] = [epoch(), node.ask(['LASTSAVE']).join('')]
    await until(() => Promise.resolve(Math.floor(Date.now() / 1_000) > Number(saved)))
    node.ask(['BGSAVE'])
    await until(() => Promise.resolve(node.ask(['LASTSAVE']).join('') !== saved))
    expect(epoch()).toBe(before)
    const place = join(directory, 'copy')
    mkdirSync(place)
    copyFileSync(join(directory, String(node.port), 'data', 'dump.rdb'), join(place, 'dump.rdb'))
    const port = String(await freePort())
    const page = read('docs/store.md').replaceAll('6400', port).replace('DIRECTORY-OF-THE-COPY', place)
    const server = /^redis-server (--port .*)$/m.exec(page)?.[1] ?? ''
    const end = startRaw(server.replace("''", '').split(/ /))
    await until(() => Promise.resolve(run('redis-cli', ['-p', port, 'ping']).out.includes('PONG')))
    const [, store = ''] = /^countersign store export FILE (--store redis:.*)$/m.exec(page) ?? []
    const flags = store.replace(port, `${port}/5`).split(' ')
    const made = await runCli(['store', 'export', join(directory, 'of-a-copy'), ...flags], { cwd: directory })
    await end()
    expect([made.code, made.err, made.out]).toEqual([
      0,
      '',
      expect.stringContaining('_system: evidence 1 to 1'),
    ])
  })

  it('change a password as docs/secrets.md describes, and keep it over a restart of Redis', async () => {
    const steps = /^#+ Password of Redis$[^#]+/m.exec(read('docs/secrets.md'))?.[0] ?? ''
    const commands = [...steps.matchAll(/`(ACL [^`]+)`/g)].map(([, command = '']) => command.split(' '))
    expect(commands.length).toBeGreaterThan(1)
    const fresh = { user: 'countersign', password: 'another-password-of-this-test-only-1' }
    for (const command of commands)
      node.ask(
        command.map((word) =>
          word.replace('>NEW', `>${fresh.password}`).replace('<OLD', `<${countersign.password}`),
        ),
      )
    await node.kill('SIGTERM')
    await node.restart()
    expect(node.ask(['SET', 'cs:new', 'yes'], fresh)).toEqual(['OK'])
    expect(node.ask(['GET', 'cs:new'], countersign).join('')).toContain('NOAUTH')
  })
})

describe('the containers of Redis', () => {
  const compose = yaml('deploy/compose/compose.yaml').services.redis
  const [statefulSet] = yamlDocuments('deploy/kubernetes/redis.yaml')
  const container = statefulSet.spec.template.spec.containers[0]
  const ping = container.readinessProbe.exec.command as string[]

  it.each([
    ['compose.yaml', compose.command as string[], (compose.healthcheck.test as string[])[1] ?? ''],
    ['redis.yaml', container.command as string[], ping[2] ?? ''],
  ])(
    'the containers of %s start with their command, and pass their health check',
    async (name, [program, ...args], health) => {
      const place = join(directory, name)
      mkdirSync(join(place, 'data'), { recursive: true })
      const acl = aclFile(place, ['countersign'])
      const port = await freePort()
      const here = args.map((argument) =>
        argument
          .replace('/etc/redis/redis.conf', at('deploy/redis/redis.conf'))
          .replace(/^\/data$/, join(place, 'data'))
          .replace(/^\/run\/secrets\/(?:redis\/)?users\.acl$/, acl)
          .replace(/^\*$/, '127.0.0.1')
          .replace(/^-::\*$/, '-::1'),
      )
      // a `-` before an address makes Redis ignore it where the machine lacks it
      expect(args.slice(args.indexOf('--bind') + 1, args.indexOf('--dir'))).toEqual(['*', '-::*'])
      expect([program, health]).toEqual(['redis-server', expect.stringMatching(/^redis-cli /)])
      const healthy = (): boolean =>
        run('sh', ['-c', health.replace('redis-cli', `redis-cli -p ${port}`)]).status === 0
      expect(healthy()).toBe(false)
      const kill = startRaw([...here, '--port', String(port)])
      await until(() => Promise.resolve(healthy()))
      const as = [
        '-p',
        String(port),
        '--user',
        'countersign',
        '--pass',
        PASSWORDS.countersign,
        '--no-auth-warning',
      ]
      expect(run('redis-cli', [...as, 'config', 'get', 'bind']).out).toBe('bind\n127.0.0.1 -::1\n')
      expect(run('redis-cli', [...as, 'config', 'get', 'dir']).out).toBe(`dir\n${join(place, 'data')}\n`)
      await kill()
    },
  )
})

describe('acl.sh', () => {
  it('refuses every user before passwords are set', async () => {
    const node = await startNode({ directory, port: await freePort(), config: 'redis.conf' })
    for (const user of ['countersign', 'admin', 'replica', 'sentinel', 'default']) {
      expect(node.ask(['GET', 'cs:k'], { user, password: PASSWORDS.countersign }).join(''), user).toContain(
        'NOAUTH',
      )
    }
    await node.kill()
  })

  it('refuses short passwords and users that it does not know', () => {
    const short = join(directory, 'short')
    writeFileSync(short, 'short')
    const made = (pair: string) => run('sh', [at('deploy/redis/acl.sh'), at('deploy/redis/users.acl'), pair])
    expect(made(`countersign=${short}`)).toEqual({
      status: 1,
      out: '',
      err: `acl.sh: ${short}: a password has 32 characters or more\n`,
    })
    expect(made(`default=${short}`).status).toBe(1)
    expect(made(`health=${short}`).status).toBe(1)
  })

  it('gives each user the intended password', () => {
    const acl = lines(
      readFileSync(aclFile(directory, ['countersign', 'admin', 'replica', 'sentinel']), 'utf8'),
    )
    const hashes = acl
      .map((line) => /^user (\w+) .*#([0-9a-f]{64})/.exec(line))
      .filter((match) => match !== null)
    expect(hashes.map((match) => match[1])).toEqual(['countersign', 'replica', 'sentinel', 'admin'])
    expect(new Set(hashes.map((match) => match[2])).size).toBe(4)
  })
})

describe('the Sentinel example', () => {
  it('elects a primary with a confirming replica that the gateway can write to, and fails over', async () => {
    const users = ['countersign', 'admin', 'replica', 'sentinel'] as const
    const ports = [await freePort(), await freePort(), await freePort()] as const
    const common = { directory, config: 'sentinel/redis.conf', users }
    const [primary] = ports
    const nodes = await Promise.all(
      ports.map((port) => {
        const role = port === primary ? '' : `replicaof 127.0.0.1 ${primary}\n`
        return startNode({
          ...common,
          port,
          privates: { 'private.conf': `masterauth ${PASSWORDS.replica}\n${role}` },
        })
      }),
    )
    const secret = `requirepass ${PASSWORDS.admin}\nsentinel auth-pass countersign ${PASSWORDS.sentinel}\n`
    const watch = async () =>
      startNode({
        directory,
        port: await freePort(),
        config: 'sentinel/sentinel.conf',
        privates: { 'sentinel-private.conf': secret },
        change: (text) => text.replace('redis-1 6379', `127.0.0.1 ${primary}`),
        sentinel: true,
      })
    const sentinels = [await watch(), await watch(), await watch()] as const
    const [sentinel] = sentinels
    const quorum = (): Promise<boolean> =>
      Promise.resolve(
        sentinels.every((one) =>
          one.ask(['SENTINEL', 'CKQUORUM', 'countersign']).join('').startsWith('OK 3'),
        ),
      )
    await until(quorum)
    await until(() =>
      Promise.resolve(
        sentinel.ask(['SENTINEL', 'REPLICAS', 'countersign']).filter((line) => line === 'runid').length === 2,
      ),
    )

    const current = (): number =>
      Number(sentinel.ask(['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', 'countersign'])[1])
    const write = (key: string): string =>
      nodes
        .find(({ port }) => port === current())
        ?.ask(['SET', `cs:${key}`, 'kept'], countersign)
        .join('') ?? ''
    await until(() => Promise.resolve(write('before') === 'OK'))
    expect(current()).toBe(primary)
    // by hand, as nothing waits here for a replica's word: any of them may be the next primary
    const everywhere = (): boolean =>
      nodes.every((node) => node.ask(['GET', 'cs:before'], countersign).join('') === 'kept')
    await until(() => Promise.resolve(everywhere()))
    expect(sentinel.ask(['SENTINEL', 'FAILOVER', 'countersign'])).toEqual(['OK'])
    await until(() => Promise.resolve(current() !== primary))
    await until(() => Promise.resolve(write('after') === 'OK'))
    const now = nodes.find(({ port }) => port === current()) as Node
    expect(now.ask(['GET', 'cs:before'], countersign)).toEqual(['kept'])

    await sentinel.kill('SIGTERM')
    await sentinel.restart()
    await until(quorum)
    expect(current()).toBe(now.port)
  })

  it('stops a primary without a replica', async () => {
    const node = await startNode({
      directory,
      port: await freePort(),
      config: 'sentinel/redis.conf',
      users: ['countersign', 'admin'],
      privates: { 'private.conf': `masterauth ${PASSWORDS.replica}\n` },
    })
    expect(node.ask(['SET', 'cs:k', '1'], countersign).join('')).toContain('NOREPLICAS')
    await node.kill()
  })

  it('does not start without its private file', async () => {
    const starting = startNode({ directory, port: await freePort(), config: 'sentinel/redis.conf' })
    await expect(starting).rejects.toThrow()
  })
})

describe('the Cluster example', () => {
  it("join through create.sh, and accept the gateway's writes", async () => {
    const ports = await clusterPorts(6)
    const nodes = await Promise.all(
      ports.map((port) =>
        startNode({
          directory,
          port,
          config: 'cluster/redis.conf',
          users: ['countersign', 'admin', 'replica'],
          privates: { 'private.conf': `masterauth ${PASSWORDS.replica}\n` },
        }),
      ),
    )
    const password = join(directory, 'admin.password')
    writeFileSync(password, PASSWORDS.admin)
    const addresses = ports.map((port) => `127.0.0.1:${port}`)
    const created = run('sh', [at('deploy/redis/cluster/create.sh'), password, ...addresses], {
      env: { CREATE_FLAGS: '--cluster-yes' },
    })
    expect({ status: created.status, out: created.out.includes('All 16384 slots covered') }).toEqual({
      status: 0,
      out: true,
    })
    const info = (node: Node): string =>
      node.ask(['CLUSTER', 'INFO'], { user: 'admin', password: PASSWORDS.admin }).join(' ')
    await until(() => Promise.resolve(nodes.every((node) => info(node).includes('cluster_state:ok'))))
    const [first] = nodes as [Node]
    const write = (tenant: string): string[] =>
      first.ask(['-c', 'SET', `cs:{t:${tenant}}:r`, 'kept'], countersign)
    for (const tenant of ['acme', 'globex', 'initech', 'umbrella']) {
      await until(() => Promise.resolve(write(tenant).at(-1) === 'OK'))
    }
    const isServing = (slots: string[]): boolean => ports.every((port) => slots.includes(String(port)))
    await until(() => Promise.resolve(isServing(first.ask(['CLUSTER', 'SLOTS'], countersign))))
  })
})
