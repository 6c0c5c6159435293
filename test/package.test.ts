import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { builtinModules } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { IS_SOAK } from './runs.ts'
import { execFileSync, spawnSync } from './sync-child.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const TSC = join(root, 'node_modules/typescript/bin/tsc')
/** The first version that can read the types of the SDK. */
const OLDEST_TYPESCRIPT = '5.4.5'
const STRICT = '--noEmit --strict --module nodenext --target es2022 --lib es2022,dom'.split(' ')
let directory: string
const filesOf = new Map<string, readonly string[]>()

/** Both packages as a user installs them: packed, then unpacked into node_modules without other packages. */
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'cs-package-'))
  const args = ['pack', '--json', '--workspaces', '--include-workspace-root', '--pack-destination', directory]
  const packed = JSON.parse(execFileSync('npm', args, { cwd: root })) as Packed[]
  for (const { name, filename, files } of packed) {
    const into = join(directory, 'node_modules', name)
    mkdirSync(into, { recursive: true })
    execFileSync('tar', ['-xzf', join(directory, filename), '--strip-components=1', '-C', into])
    filesOf.set(
      name,
      files.map(({ path }) => path),
    )
  }
  writeFileSync(join(directory, 'package.json'), '{"type":"module"}')
})
afterAll(() => rmSync(directory, { recursive: true, force: true }))

interface Packed {
  readonly name: string
  readonly filename: string
  readonly files: readonly { readonly path: string }[]
}

/** All files that a package.json promises to those who install it. */
function promisedBy(name: string): string[] {
  const text = readFileSync(join(directory, 'node_modules', name, 'package.json'), 'utf8')
  const { bin = {}, exports = {} } = JSON.parse(text) as { bin?: object; exports?: object }
  const found = JSON.stringify([bin, exports]).matchAll(/"(?:\.\/)?((?:dist|package)[^"]*\.\w+)"/g)
  return [...found].map(([, path = '']) => path)
}

describe('the packages', () => {
  it('contains the program and everything for a first minute, but no sources or tests', () => {
    const files = filesOf.get('countersign') ?? []
    for (const path of [
      'dist/bin/main.js',
      'dist/console/index.html',
      'schemas/openapi.json',
      'policies/routing.yaml',
      'LICENSE',
    ]) {
      expect(files).toContain(path)
    }
    expect(files.filter((path) => /^(src|test|bench|packages)\//.test(path))).toEqual([])
    expect(files.filter((path) => /^dist\/(?!bin\/|console\/)/.test(path))).toEqual([])
  })

  it('the packages contain each file that their package.json names, and a licence', () => {
    for (const name of ['countersign', '@countersign/sdk']) {
      const promised = promisedBy(name)
      expect(promised.length, name).toBeGreaterThan(1)
      expect(filesOf.get(name)).toEqual(expect.arrayContaining([...promised, 'LICENSE', 'README.md']))
    }
    const sdk = filesOf.get('@countersign/sdk') ?? []
    expect(
      sdk.filter((path) => !/^(dist\/.*\.(js|d\.ts)|package\.json|LICENSE|README\.md)$/.test(path)),
    ).toEqual([])
    expect(readFileSync(join(root, 'packages/sdk/LICENSE'))).toEqual(readFileSync(join(root, 'LICENSE')))
  })

  it('the packages have one version, and the SDK depends on one package', () => {
    const [gateway, sdk] = ['countersign', '@countersign/sdk'].map(
      (name) =>
        JSON.parse(readFileSync(join(directory, 'node_modules', name, 'package.json'), 'utf8')) as {
          version: string
          devDependencies?: Record<string, string>
        },
    )
    expect(gateway?.devDependencies?.['@countersign/sdk']).toBe(sdk?.version)
    expect(gateway?.version).toBe(sdk?.version)
    const consumer = join(directory, 'consumer')
    mkdirSync(consumer)
    writeFileSync(join(consumer, 'package.json'), '{"private":true}')
    const archive = join(directory, `countersign-sdk-${sdk?.version}.tgz`)
    execFileSync('npm', ['install', '--offline', '--no-audit', '--no-fund', archive], { cwd: consumer })
    const { packages } = JSON.parse(readFileSync(join(consumer, 'package-lock.json'), 'utf8')) as {
      packages: Record<string, unknown>
    }
    expect(Object.keys(packages)).toEqual(['', 'node_modules/@countersign/sdk'])
    expect(readdirSync(join(consumer, 'node_modules')).filter((name) => !name.startsWith('.'))).toEqual([
      '@countersign',
    ])
  })

  it('imports only installed packages, and contains the licence of every bundled one', () => {
    const { dependencies, peerDependencies, peerDependenciesMeta } = JSON.parse(
      readFileSync(join(root, 'package.json'), 'utf8'),
    ) as Record<string, Record<string, unknown>>
    const bin = join(directory, 'node_modules/countersign/dist/bin')
    const sources = readdirSync(bin).filter((name) => name.endsWith('.js'))
    const imported = sources.flatMap((name) => {
      const text = readFileSync(join(bin, name), 'utf8')
      const pattern =
        /(?:^|\n)(?:import|export) [^'"\n]*?from "([^"]+)"|(?:^|\n)import "([^"]+)"|\bimport\("([^"]+)"\)|\bcreateRequire\([^)]*\)\("([^"]+)"\)/g
      return [...text.matchAll(pattern)].map(
        (match) => match.slice(1).find((name) => name !== undefined) ?? '',
      )
    })
    expect(imported).toContain('lmdb')
    const foreign = imported.filter((name) => !/^(?:\.|node:)/.test(name) && !builtinModules.includes(name))
    // @redis/client tries this one, and does without it
    const loaded = foreign.filter((name) => name !== '@node-rs/xxhash')
    const peers = Object.keys(peerDependencies ?? {})
    expect(peers.map((name) => peerDependenciesMeta?.[name])).toEqual(peers.map(() => ({ optional: true })))
    expect([...new Set(loaded)].sort()).toEqual([...peers, ...Object.keys(dependencies ?? {})].sort())
    // only a chunk of its own names an optional peer
    const naming = sources.filter((name) =>
      peers.some((peer) => readFileSync(join(bin, name), 'utf8').includes(`from "${peer}"`)),
    )
    expect(naming).toEqual([expect.stringMatching(/^s3-place-/)])
    expect(sources.some((name) => readFileSync(join(bin, name), 'utf8').includes('OAUTH_TIMEOUT'))).toBe(true)
    const licences = readFileSync(join(bin, 'LICENSES.txt'), 'utf8')
    expect(licences).toContain('@countersign/sdk\n\nApache License')
    for (const name of ['openid-client', 'oauth4webapi', 'jose'])
      expect(licences).toContain(`${name}\n\nThe MIT`)
    expect(licences).toContain('limiter\n\nCopyright')
    expect(licences).toContain('fastify\n\nMIT License')
    expect(licences).toContain('@opentelemetry/sdk-trace\n\nApache License')
  })

  it('ships a bill of materials of exactly the packages whose modules the bundle contains', () => {
    const bin = join(directory, 'node_modules/countersign/dist/bin')
    const { components, ...head } = JSON.parse(readFileSync(join(bin, 'sbom.cdx.json'), 'utf8')) as {
      components: { name: string; version: string; purl: string; licenses: unknown }[]
    }
    expect(head).toMatchObject({ bomFormat: 'CycloneDX', specVersion: '1.6' })
    // the bundler writes the path of each module above its code
    const folders = new Set<string>()
    for (const name of readdirSync(bin).filter((one) => one.endsWith('.js')))
      for (const [, folder = ''] of readFileSync(join(bin, name), 'utf8').matchAll(
        /^\/\/(?:#region)? ?((?:.*\/)?node_modules\/(?:@[^/\n]+\/)?[^/\n]+)\/\S+$/gm,
      ))
        folders.add(folder)
    const inBundle = [...folders].map((folder) => {
      const { name, version } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')) as {
        name: string
        version: string
      }
      return `${name}@${version}`
    })
    expect(inBundle.length).toBeGreaterThan(40)
    const listed = components.map(({ name, version }) => `${name}@${version}`)
    expect(inBundle.filter((one) => !listed.includes(one))).toEqual([])
    // redis only passes on what its parts export, and the SDK comes from its sources
    const unseen = listed.filter(
      (one) => !inBundle.includes(one) && !/^(?:redis|@countersign\/sdk)@/.test(one),
    )
    expect(unseen).toEqual([])
    const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
      packages: Record<string, { version: string }>
    }
    for (const { name, version, purl, licenses } of components) {
      expect(purl).toBe(`pkg:npm/${name.replace('@', '%40')}@${version}`)
      expect(licenses, name).toBeDefined()
      const locked = Object.entries(packages).filter(([path]) => path.endsWith(`node_modules/${name}`))
      if (!name.startsWith('@countersign/')) expect(locked.map(([, one]) => one.version)).toContain(version)
    }
  })

  it('loads the trace exporter only on demand, and in no file of the program itself', () => {
    const bin = join(directory, 'node_modules/countersign/dist/bin')
    const texts = readdirSync(bin)
      .filter((name) => name.endsWith('.js'))
      .map((name) => ({ name, text: readFileSync(join(bin, name), 'utf8') }))
    const holders = texts.filter(({ text }) => text.includes('BatchSpanProcessor = class'))
    expect(holders).toHaveLength(1)
    const name = holders[0]?.name ?? ''
    const importers = (form: string): number => texts.filter(({ text }) => text.includes(form)).length
    expect([importers(`from "./${name}"`), importers(`import "./${name}"`)]).toEqual([0, 0])
    expect(importers(`import("./${name}")`)).toBe(1)
  })

  it('installs the SDK without any dependency', () => {
    const script = "import * as sdk from '@countersign/sdk'; console.log(Object.keys(sdk).sort().join())"
    const out = execFileSync(process.execPath, ['--input-type=module', '-e', script], {
      cwd: directory,
    })
    expect(out.trim().split(',')).toEqual(
      expect.arrayContaining(['CountersignError', 'NotExecuted', 'createClient', 'createGate']),
    )
    const required = "console.log(typeof require('@countersign/sdk').createGate)"
    const args = ['--input-type=commonjs', '-e', required]
    expect(execFileSync(process.execPath, args, { cwd: directory })).toBe('function\n')
  })

  it.each([
    ['ai-sdk', 'guardTools'],
    ['openai-agents', 'guardTool'],
    ['langchain', 'countersign'],
    ['testing', 'startGateway'],
  ])('installs %s without any dependency, for gates of the same package', (name, main) => {
    const script = `
import { createGate, NotExecuted } from '@countersign/sdk'
import { ${main} } from '@countersign/sdk/${name}'
console.log(typeof ${main})`
    const out = execFileSync(process.execPath, ['--input-type=module', '-e', script], {
      cwd: directory,
    })
    expect(out.trim()).toBe('function')
  })

  it('type-checks strictly as an ES module and from CommonJS, libraries too', () => {
    expect(checkedBy(TSC)).toBe('')
  })

  it.runIf(IS_SOAK)('type-checks with the oldest TypeScript', () => {
    const made = join(directory, 'typescript')
    mkdirSync(made)
    writeFileSync(join(made, 'package.json'), '{"private":true}')
    const args = ['install', '--ignore-scripts', '--no-audit', '--no-fund', `typescript@${OLDEST_TYPESCRIPT}`]
    const { status, stderr } = spawnSync('npm', args, { cwd: made })
    if (status !== 0) return console.warn(`skipped, because npm cannot install it: ${stderr}`)
    // with 5.4, no file of CommonJS may import an ES module in its head
    expect(checkedBy(join(made, 'node_modules/typescript/bin/tsc'), false)).toBe('')
  })

  it('compiles the TypeScript of the docs in its context', () => {
    const blocks = Object.keys(CONTEXTS).flatMap((path) =>
      [...readFileSync(join(root, path), 'utf8').matchAll(/^```ts\n(.*?)^```/gms)].map(([, block = '']) => ({
        block,
        around: COMMON + CONTEXTS[path],
      })),
    )
    expect(blocks).toHaveLength(12)
    installFrameworks(join(directory, 'node_modules'))
    const names = blocks.map(({ block, around }, number) => {
      const imports = block.match(/^import .*$/gm)?.join('\n') ?? ''
      const rest = block.replaceAll(/^import .*$/gm, '')
      const name = `example-${number}.ts`
      writeFileSync(
        join(directory, name),
        `${imports}\n${around}\nexport async function example() {\n${rest}\n}\n`,
      )
      return name
    })
    const args = [TSC, ...STRICT, '--skipLibCheck', ...names]
    const { status, stdout } = spawnSync(process.execPath, args, { cwd: directory })
    expect([status, stdout]).toEqual([0, ''])
  })
})

/** The output of a compiler for consumers of the SDK. */
function checkedBy(tsc: string, mayRequire = true): string {
  const source = `
import { createGate, NotExecuted, type Decision, type Handle } from '@countersign/sdk'
import { guardTools } from '@countersign/sdk/ai-sdk'
import { countersign } from '@countersign/sdk/langchain'
import { guardTool } from '@countersign/sdk/openai-agents'
import { bundle, type TestGateway } from '@countersign/sdk/testing'
export { bundle, countersign, guardTool, type TestGateway }
export const tools = guardTools(createGate({ url: 'http://127.0.0.1:1', key: 'k' }), { t: { execute: () => 1 } }, { taskId: 't' }).tools
const gate = createGate({ url: 'http://127.0.0.1:1', key: 'k' })
const sum: Promise<number> = gate.guard('a.tool', { amount: 1 }, (payload) => payload.amount + 1)
export const status = (decision: Decision): 'allow' | string => decision.status
const optional: { note?: string | undefined } = {}
export const later: Promise<Handle> = gate.propose('a.tool', optional, { taskId: 't', callId: 'c', signal: undefined })
export { sum, NotExecuted }
// @ts-expect-error a decision is typed, not any
export const wrong: number = gate.client.poll({ thread_id: 'x' })
`
  const lazy = `
export const sum = async (): Promise<number> => {
  const { createGate } = await import('@countersign/sdk')
  return createGate().guard('a.tool', { amount: 1 }, (payload) => payload.amount + 1)
}
// @ts-expect-error a module is typed, not any
export const wrong: Promise<number> = import('@countersign/sdk')
`
  const files = { 'consumer.ts': source, 'lazy.cts': lazy, ...(mayRequire ? { 'consumer.cts': source } : {}) }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text)
  const strict = [...STRICT, '--exactOptionalPropertyTypes', '--skipLibCheck', 'false']
  const said = [
    [...strict, '--module', 'node16', 'consumer.ts', 'lazy.cts'],
    ...(mayRequire ? [[...strict, 'consumer.cts']] : []),
  ].map((args) => spawnSync(process.execPath, [tsc, ...args], { cwd: directory }))
  return said.map(({ status, stdout, stderr }) => (status === 0 ? '' : stdout + stderr)).join('')
}

const COMMON = `
declare const gate: import('@countersign/sdk').Gate
declare const toolCallId: string
declare const chatId: string
declare const description: string
`
const SCHEMA = `
declare const schema: import('zod').ZodObject<{ to: import('zod').ZodString }>
declare const [inputSchema, parameters]: [typeof schema, typeof schema]
declare const execute: (input: { to: string }) => Promise<string>
`
const STATE = `
declare const save: (text: string) => Promise<void>
declare const load: (thread_id?: string) => Promise<string>
`
/** The pages with examples, and the names that the examples use. */
const CONTEXTS: Readonly<Record<string, string>> = {
  'docs/agent-side.md': `
declare const payload: { from: string; amount_cents: number }
declare const ledger: { transfer(payload: { readonly from: string; readonly amount_cents: number }): Promise<string> }
`,
  'docs/webhooks.md': `
declare const process: { env: Record<string, string | undefined> }
declare const request: { headers: Record<string, string | string[] | undefined> }
declare const rawBody: Uint8Array
`,
  'docs/javascript/README.md': `${STATE}
declare const refund: (order: unknown) => Promise<string>
`,
  'docs/javascript/values.md': '',
  'docs/javascript/ai-sdk.md': `${SCHEMA}
declare const model: import('ai').LanguageModel
declare const messages: import('ai').ModelMessage[]
declare const { tools, settle }: import('@countersign/sdk/ai-sdk').GuardedTools<import('ai').ToolSet>
`,
  'docs/javascript/openai-agents.md': `${SCHEMA}${STATE}
declare const agent: import('@openai/agents').Agent
`,
  'docs/javascript/langchain.md': `
declare const model: import('@langchain/core/language_models/chat_models').BaseChatModel
declare const refund: import('@langchain/core/tools').DynamicStructuredTool
declare const checkpointer: import('@langchain/langgraph').MemorySaver
declare const agent: import('langchain').ReactAgent
declare const config: object
`,
}

/**
 * Installs the frameworks that the documents import: the packages of the adapters' tests, under the names that people
 * install.
 */
function installFrameworks(modules: string): void {
  for (const name of ['ai', 'zod', '@openai/agents-core', '@langchain', 'langchain']) {
    mkdirSync(dirname(join(modules, name)), { recursive: true })
    symlinkSync(join(root, 'node_modules', name), join(modules, name))
  }
  const declared = { '@openai/agents': "export * from '@openai/agents-core'\n" }
  for (const [name, types] of Object.entries(declared)) {
    mkdirSync(join(modules, name), { recursive: true })
    writeFileSync(
      join(modules, name, 'package.json'),
      JSON.stringify({ name, type: 'module', types: 'index.d.ts' }),
    )
    writeFileSync(join(modules, name, 'index.d.ts'), types)
  }
}
