import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { PUBLIC } from '../../src/contract/operations/public.ts'
import { beforeAll, describe, expect, it } from 'vitest'
import { SETTING_ROWS, SETTINGS } from '../../src/settings/settings.ts'
import { DRAINING } from '../../src/http/server/shutdown.ts'
import { runCli } from '../cli/run.ts'
import { run } from '../debian.ts'
import { at, type Loose, read, ROOT, temporaryDirectory, yaml, yamlDocuments } from './files.ts'

const HERE = 'deploy/kubernetes'
const kustomization = yaml(`${HERE}/kustomization.yaml`)
const objects = (kustomization.resources as string[]).flatMap((file) => yamlDocuments(`${HERE}/${file}`))
const patches = (kustomization.patches as { path: string }[]).map(({ path }) => yaml(`${HERE}/${path}`))
const ofKind = (kind: string): Loose[] => objects.filter((one) => one.kind === kind)
const named = (kind: string, name: string): Loose => ofKind(kind).find((one) => one.metadata.name === name)
const workloads = [...ofKind('Deployment'), ...ofKind('StatefulSet')]
const podOf = (workload: Loose): Loose => workload.spec.template.spec
const containers = workloads.flatMap((one) => podOf(one).containers as Loose[])
const gateway = podOf(named('Deployment', 'countersign')).containers[0]
const portOf = (key: string): number => Number(SETTING_ROWS.find((setting) => setting.key === key)?.default)

let directory: string
beforeAll(async () => {
  directory = await temporaryDirectory()
})

/** The module of kubernetes-types that has the type of an object. */
const MODULES: Record<string, string> = {
  v1: 'core/v1',
  'apps/v1': 'apps/v1',
  'policy/v1': 'policy/v1',
  'networking.k8s.io/v1': 'networking/v1',
}

/** Errors of the compiler, which checks objects against the API's own types: unknown, missing and mistyped fields. */
function typeErrors(list: readonly Loose[], name: string): string {
  const source = list.map((object, index) => {
    const path = join(
      ROOT,
      'node_modules/kubernetes-types',
      MODULES[object.apiVersion as string] ?? 'unknown',
    )
    return [
      `import type { ${object.kind} as Type${index} } from ${JSON.stringify(path)}`,
      `export const object${index}: Type${index} = ${JSON.stringify(object, undefined, 1)}`,
    ].join('\n')
  })
  const file = join(directory, `${name}.ts`)
  writeFileSync(file, source.join('\n'))
  const flags = [
    '--noEmit',
    '--strict',
    '--skipLibCheck',
    '--module',
    'preserve',
    '--target',
    'es2022',
    '--types',
    '',
  ]
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
  return run(process.execPath, [tsc, ...flags, file], { cwd: directory }).out
}

describe('the manifests', () => {
  it('the manifests have only fields that the API knows, with the right types', () => {
    expect(objects.length).toBeGreaterThan(10)
    expect(typeErrors(objects, 'sound')).toBe('')
  })

  it('the manifests serve IPv4 and IPv6 where the cluster has both', () => {
    expect(ofKind('Service').map((one) => one.spec.ipFamilyPolicy as unknown)).toEqual(
      ofKind('Service').map(() => 'PreferDualStack'),
    )
  })

  it('the manifests are refused when a field is misspelt, wrong or missing (the check itself can fail)', () => {
    const odd = (change: (copy: Loose) => void): Loose => {
      const copy = structuredClone(named('Deployment', 'countersign'))
      change(podOf(copy).containers[0])
      return copy
    }
    const misspelt = odd((container) => (container.readinesProbe = container.readinessProbe))
    const wrong = odd((container) => (container.securityContext.runAsUser = 'nobody'))
    const missing = odd((container) => delete container.name)
    for (const object of [misspelt, wrong, missing])
      expect(typeErrors([object], 'odd')).toMatch(/error TS\d+/)
  })

  it('the manifests have labels that are all different', () => {
    const names = objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`)
    expect(new Set(names).size).toBe(names.length)
    expect(kustomization.namespace).toBe(ofKind('Namespace')[0].metadata.name)
  })

  it('the manifests select the intended pods', () => {
    for (const { metadata, spec } of workloads) {
      expect(spec.template.metadata.labels, metadata.name).toMatchObject(spec.selector.matchLabels as object)
    }
    const pods = workloads.map(({ spec }) => JSON.stringify(spec.template.metadata.labels))
    const selectors = [
      ...ofKind('Service').map(({ spec }) => spec.selector as object),
      ...ofKind('PodDisruptionBudget').map(({ spec }) => spec.selector.matchLabels as object),
      ...ofKind('NetworkPolicy').flatMap(({ spec }) => podSelectors(spec)),
    ]
    for (const selector of selectors) expect(pods).toContain(JSON.stringify(selector))
  })

  it('the manifests send the ports of a Service to ports that a container has', () => {
    for (const { metadata, spec } of ofKind('Service')) {
      const workload = workloads.find((one) => one.metadata.name === metadata.name)
      const ports = podOf(workload).containers[0].ports as { name: string; containerPort: number }[]
      for (const { port, targetPort } of spec.ports) {
        expect(ports).toContainEqual({ name: targetPort, containerPort: port })
      }
    }
  })

  it('the manifests name only secrets, maps and files that the kustomization makes', () => {
    const made = new Map<string, string[]>([
      ...(['configMapGenerator', 'secretGenerator'] as const).flatMap((generator) =>
        (kustomization[generator] as { name: string; files?: string[]; envs?: string[] }[]).map(
          ({ name, files, envs }): [string, string[]] => [
            `${generator.startsWith('secret') ? 'Secret' : 'ConfigMap'} ${name}`,
            [...(files ?? []), ...(envs ?? [])].map((file) => file.split('/').at(-1) ?? ''),
          ],
        ),
      ),
      ...ofKind('ConfigMap').map((one): [string, string[]] => [
        `ConfigMap ${one.metadata.name}`,
        Object.keys(one.data as object),
      ]),
    ])
    for (const workload of workloads) {
      for (const { configMap, secret } of podOf(workload).volumes) {
        const name = secret ? `Secret ${secret.secretName}` : `ConfigMap ${configMap.name}`
        expect([...made.keys()]).toContain(name)
      }
    }
    for (const { configMapRef } of gateway.envFrom as Loose[])
      expect([...made.keys()]).toContain(`ConfigMap ${configMapRef.name}`)
    expect(made.get('Secret countersign')).toEqual(['admin-key', 'redis-password'])
    expect(made.get('Secret redis')).toEqual(['users.acl'])
  })

  it('the manifests need the settings of a bucket, which a person fills in', () => {
    const [file = ''] = (kustomization.configMapGenerator as Loose[]).flatMap(
      ({ envs = [] }) => envs as string[],
    )
    expect(run('git', ['check-ignore', '--quiet', `${HERE}/${file}`], { cwd: ROOT }).status, file).toBe(0)
    const example = read(`${HERE}/${file}.example`)
    const [, bucket = ''] = /^COUNTERSIGN_TILES=(.*)$/m.exec(example) ?? []
    expect(() => SETTINGS.tiles.parse(bucket)).toThrow('s3://<bucket>/<prefix>')
    expect(SETTINGS.tiles.parse(bucket.replace('YOUR-BUCKET', 'evidence'))).toMatchObject({ kind: 's3' })
  })

  it('the manifests contain no secrets: secrets.sh makes those of the kustomization outside the repository', () => {
    expect(ofKind('Secret')).toEqual([])
    const secrets = join(directory, 'secrets')
    expect(run('sh', [at('deploy/secrets.sh'), secrets]).status).toBe(0)
    const files = (kustomization.secretGenerator as { files: string[] }[]).flatMap((one) => one.files)
    for (const file of files) {
      expect(existsSync(join(directory, file)), file).toBe(true)
      expect(run('git', ['check-ignore', '--quiet', `${HERE}/${file}`], { cwd: ROOT }).status, file).toBe(0)
    }
  })
})

function podSelectors(spec: Loose): object[] {
  const peers = [
    ...(spec.ingress ?? []).flatMap((rule: Loose) => (rule.from ?? []) as Loose[]),
    ...(spec.egress ?? []).flatMap((rule: Loose) => (rule.to ?? []) as Loose[]),
  ] as Loose[]
  return [spec.podSelector, ...peers.map((peer) => peer.podSelector)]
    .filter((selector) => selector?.matchLabels !== undefined)
    .map((selector) => selector.matchLabels as object)
}

describe('every pod', () => {
  it('keeps to the restricted profile, which the namespace enforces', () => {
    expect(ofKind('Namespace')[0].metadata.labels['pod-security.kubernetes.io/enforce']).toBe('restricted')
    for (const workload of workloads) {
      const { securityContext, hostNetwork, hostPID, hostIPC, volumes } = podOf(workload)
      expect(securityContext).toMatchObject({
        runAsNonRoot: true,
        seccompProfile: { type: 'RuntimeDefault' },
      })
      expect(securityContext.runAsUser).toBeGreaterThan(0)
      expect([hostNetwork, hostPID, hostIPC]).toEqual([undefined, undefined, undefined])
      expect((volumes as object[]).filter((volume) => 'hostPath' in volume)).toEqual([])
    }
    for (const { securityContext } of containers) {
      expect(securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      })
    }
  })

  it('gets no token for the cluster', () => {
    for (const workload of workloads) expect(podOf(workload).automountServiceAccountToken).toBe(false)
    expect(named('ServiceAccount', 'countersign').automountServiceAccountToken).toBe(false)
  })

  it('has a memory limit and requests the resources that it needs', () => {
    for (const { resources } of containers) {
      expect(resources.requests.memory).toMatch(/Mi$/)
      expect(resources.limits.memory).toMatch(/Gi$/)
    }
  })
})

describe('the gateways', () => {
  const deployment = named('Deployment', 'countersign')

  it('two gateways run on different nodes, and one stays up during a rollout or a drain', () => {
    expect(deployment.spec.replicas).toBe(2)
    expect(deployment.spec.strategy.rollingUpdate).toEqual({ maxUnavailable: 0, maxSurge: 1 })
    expect(named('PodDisruptionBudget', 'countersign').spec.minAvailable).toBe(1)
    const [term] = podOf(deployment).affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution
    expect(term.podAffinityTerm.labelSelector.matchLabels).toEqual(deployment.spec.selector.matchLabels)
  })

  it('the gateways have probes at the ports where they answer', () => {
    const routes: readonly string[] = Object.values(PUBLIC).map(({ path }) => path)
    const { startupProbe, livenessProbe, readinessProbe, ports } = gateway
    const paths = [startupProbe, livenessProbe, readinessProbe].map((probe) => probe.httpGet.path as string)
    expect(paths).toEqual(['/livez', '/livez', '/readyz'])
    for (const path of paths) expect(routes).toContain(path)
    expect([startupProbe, readinessProbe].map((probe) => probe.httpGet.port)).toEqual(['http', 'http'])
    // behind no crowd of callers (docs/decisions/0026)
    expect(livenessProbe.httpGet.port).toBe('metrics')
    expect(ports).toEqual([
      { name: 'http', containerPort: portOf('port') },
      { name: 'metrics', containerPort: portOf('metricsPort') },
    ])
  })

  it('the gateways have time to leave the Service and to end', () => {
    const [, , program] = gateway.lifecycle.preStop.exec.command as string[]
    const leavingMs = Number(/(\d+)\)$/.exec(program ?? '')?.[1])
    const { periodSeconds, failureThreshold } = gateway.readinessProbe
    expect(leavingMs).toBeGreaterThan(periodSeconds * failureThreshold * 1000)
    const graceMs = (podOf(deployment).terminationGracePeriodSeconds as number) * 1000
    expect(graceMs).toBeGreaterThan(leavingMs + DRAINING.DRAIN_MS + 2_000)
  })

  it('the gateways read secrets from files, in a volume that contains them', () => {
    const secret = gateway.volumeMounts.find(({ name }: { name: string }) => name === 'secrets')
      .mountPath as string
    const variables = gateway.env as { name: string; value: string }[]
    const secrets = variables.filter(({ name }) => /KEY|PASSWORD/.test(name))
    expect(secrets.map(({ name }) => name.endsWith('_FILE'))).toEqual([true, true])
    expect(secrets.map(({ value }) => value)).toEqual([`${secret}/redis-password`, `${secret}/admin-key`])
  })
})

describe('the network policies', () => {
  it('forbid for every pod all traffic that is not listed', () => {
    expect(named('NetworkPolicy', 'nothing').spec).toEqual({
      podSelector: {},
      policyTypes: ['Ingress', 'Egress'],
    })
  })

  it('the network policies let gateways reach Redis and DNS, and nothing else', () => {
    const { egress } = named('NetworkPolicy', 'countersign').spec
    expect((egress as { ports: object[] }[]).map(({ ports }) => ports)).toEqual([
      [{ protocol: 'TCP', port: 6379 }],
      [
        { protocol: 'UDP', port: 53 },
        { protocol: 'TCP', port: 53 },
      ],
    ])
  })

  it('the network policies let callers reach the API, scrapers the metrics, and only gateways Redis', () => {
    const { ingress } = named('NetworkPolicy', 'countersign').spec
    const let_in = (ingress as Loose[]).map(({ from, ports }) => [
      Object.keys(from[0].namespaceSelector.matchLabels as object),
      ports[0].port as number,
    ])
    expect(let_in).toEqual([
      [['countersign/may-call'], portOf('port')],
      [['countersign/may-scrape'], portOf('metricsPort')],
    ])
    const redis = named('NetworkPolicy', 'redis').spec
    expect(redis.egress).toBeUndefined()
    expect(redis.ingress).toEqual([
      {
        from: [
          {
            podSelector: {
              matchLabels: named('Deployment', 'countersign').spec.selector.matchLabels as object,
            },
          },
        ],
        ports: [{ protocol: 'TCP', port: 6379 }],
      },
    ])
  })
})

describe('the copies', () => {
  it('redis.conf is the same file in both places', () => {
    expect(read(`${HERE}/redis.conf`)).toBe(read('deploy/redis/redis.conf'))
  })

  it('the starter policies match the output of policies.mjs', () => {
    const made = run(process.execPath, [at(`${HERE}/policies.mjs`), at('policies'), directory])
    expect(made).toEqual({ status: 0, out: '', err: '' })
    for (const file of ['policies.yaml', 'policies-volume.yaml']) {
      expect(read(`${HERE}/${file}`), `run: node ${HERE}/policies.mjs policies`).toBe(
        readFileSync(join(directory, file), 'utf8'),
      )
    }
  })

  it("the policies are a valid bundle in the kubelet's mount", async () => {
    const [patch] = patches
    const [{ name, configMap }] = podOf(patch).volumes
    expect(patch).toMatchObject({ kind: 'Deployment', metadata: { name: 'countersign' } })
    expect(
      podOf(named('Deployment', 'countersign')).volumes.map((one: Loose) => one.name as string),
    ).toContain(name)
    const { data } = named('ConfigMap', configMap.name as string)
    const mounted = join(directory, 'mounted')
    for (const { key, path } of configMap.items) {
      mkdirSync(join(mounted, '..version', dirname(path as string)), { recursive: true })
      writeFileSync(join(mounted, '..version', path as string), data[key] as string)
    }
    symlinkSync('..version', join(mounted, '..data'))
    for (const top of ['routing.yaml', 'directory.yaml', 'tools', 'rules'])
      symlinkSync(`..data/${top}`, join(mounted, top))
    const checked = await runCli(['check', mounted], { cwd: directory })
    const original = await runCli(['check', at('policies')], { cwd: directory })
    expect(checked.code).toBe(0)
    expect(checked.out.replaceAll(mounted, '')).toBe(original.out.replaceAll(at('policies'), ''))
  })

  it('the copies are applied on the server: kubectl would otherwise keep an annotation that holds a quarter of a ConfigMap', () => {
    for (const file of ['deploy/README.md', 'deploy/kubernetes/kustomization.yaml']) {
      const commands = read(file).match(/kubectl apply .*/g) ?? []
      expect(commands.length, file).toBeGreaterThan(0)
      for (const command of commands) expect(command).toContain('--server-side')
    }
  })

  it('the copies are refused when a ConfigMap could not hold them', () => {
    const refuse = (files: Record<string, string>, name: string): string => {
      for (const [path, text] of Object.entries(files)) {
        mkdirSync(join(directory, name, dirname(path)), { recursive: true })
        writeFileSync(join(directory, name, path), text)
      }
      mkdirSync(join(directory, name), { recursive: true })
      const { status, err } = run(process.execPath, [
        at(`${HERE}/policies.mjs`),
        join(directory, name),
        directory,
      ])
      expect(status).toBe(1)
      return err
    }
    expect(refuse({ 'tools/a b.yaml': '' }, 'spaces')).toContain('cannot be a key')
    expect(refuse({ 'tools/a/b.yaml': '', 'tools/a__b.yaml': '' }, 'alike')).toContain('the same key')
    expect(refuse({ 'routing.yaml': 'x'.repeat(1024 * 1024) }, 'large')).toContain('a ConfigMap holds')
    expect(refuse({ 'README.md': '' }, 'none')).toContain('no policy files')
    const { status, err } = run(process.execPath, [at(`${HERE}/policies.mjs`), join(directory, 'nowhere')])
    expect([status, err]).toEqual([1, `policies.mjs: ${join(directory, 'nowhere')} is not a directory\n`])
  })
})
