import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { getPriority } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Diagnostic } from '../../../src/policy/report/diagnostics.ts'
import { loadBundle } from '../../../src/policy/bundle/directory.ts'
import { loadBundleInChild } from '../../../src/policy/bundle/host.ts'
import { startBundleChild } from '../../../src/policy/bundle/start.ts'
import { watchBundle, type BundleWatch, type WatchOptions } from '../../../src/policy/bundle/watch.ts'
import type { LoadResult } from '../../../src/policy/bundle/load.ts'
import { threadMs } from '../../growth.ts'
import { priorities } from '../../priorities.ts'
import { bundle, call, rules, tempDir, writeFiles, type Files } from '../support.ts'
import { until } from '../../until.ts'
import { spawnSync } from '../../sync-child.ts'

const CHILD = new URL('../../../dist/policy/bundle/bundle-child.js', import.meta.url)
const allowing = (id: string): string => rules(`  - { id: ${id}, allow: A. }\n`)

function dirWith(files: Files): string {
  const dir = tempDir()
  writeFiles(dir, files)
  return dir
}
const codes = (result: LoadResult): readonly string[] =>
  result.ok ? ['ok'] : result.diagnostics.map((one) => `${one.file} ${one.code}`)

describe('loading a bundle', () => {
  it('gives one snapshot with files, revision and commit', async () => {
    const dir = dirWith(
      bundle({
        'README.md': '# hi',
        'rules/pay.yaml.bak': 'x',
        'rules/team/more.yml': allowing('more'),
        '.git/HEAD': `${'a'.repeat(40)}\n`,
      }),
    )
    const result = await loadBundle(dir)
    if (!result.ok) throw new Error(JSON.stringify(result.diagnostics))
    expect(result.snapshot.files.map((file) => file.path)).toEqual([
      'directory.yaml',
      'routing.yaml',
      'rules/pay.yaml',
      'rules/team/more.yml',
      'tools/pay.yaml',
    ])
    expect(result.snapshot.revision).toMatch(/^[0-9a-f]{64}$/)
    expect(result.snapshot.commit).toBe('a'.repeat(40))
    expect(result.snapshot.rules.map((rule) => rule.id)).toEqual(['pay-small', 'more'])
    const again = await loadBundle(dir)
    expect(again.ok && again.snapshot.revision).toBe(result.snapshot.revision)
  })

  it('reports that there is nothing to load', async () => {
    expect(codes(await loadBundle(join(tempDir(), 'nowhere')))).toEqual(['. bundle-unreadable'])
    expect(codes(await loadBundle(tempDir()))).toEqual([
      'routing.yaml missing-file',
      'directory.yaml missing-file',
    ])
  })

  it('refuses files that look like policy and would be ignored', async () => {
    const dir = dirWith(
      bundle({
        'rule/x.yaml': 'a: b',
        'route.yaml': 'a: b',
        'rules/X.YAML': 'a: b',
        'rules/-x.yaml': 'a: b',
      }),
    )
    writeFileSync(join(dir, 'rules', 'a\nb.yaml'), 'a: b')
    expect(codes(await loadBundle(dir)).toSorted()).toEqual(
      ['route.yaml', 'rule', 'rules/-x.yaml', 'rules/X.YAML', 'rules/a<U+000A>b.yaml']
        .map((path) => `${path} unexpected-file`)
        .toSorted(),
    )
  })

  it.each(['routing.json', 'routing.yml', 'directory.json', 'Directory.YAML'])(
    'refuses %s beside the file that is read',
    async (name) => {
      const result = await loadBundle(dirWith(bundle({ [name]: '{}' })))
      expect(codes(result)).toEqual([`${name} unexpected-file`])
      const meant = name.toLowerCase().startsWith('routing') ? 'routing.yaml' : 'directory.yaml'
      expect(!result.ok && result.diagnostics[0]?.hint).toBe(`name it \`${meant}\`, which may hold JSON`)
    },
  )

  it('ignores files that are not policy', async () => {
    const others = [
      'package.json',
      'README.md',
      'notes.txt',
      '.routing.json',
      '.yamllint.yaml',
      'schemas/rules.json',
    ]
    const files = Object.fromEntries(others.map((name) => [name, '{}']))
    expect(codes(await loadBundle(dirWith(bundle({ ...files, '.git/x.yaml': 'a' }))))).toEqual(['ok'])
  })

  it('reads folders up to four levels deep, and refuses a deeper folder', async () => {
    const dir = dirWith(bundle({ 'rules/a/b/c/d/deep.yaml': allowing('deep') }))
    expect(codes(await loadBundle(dir))).toEqual(['ok'])
    writeFiles(dir, { 'tools/a/b/c/d/e/deeper.yaml': '' })
    const result = await loadBundle(dir)
    expect(codes(result)).toEqual(['tools/a/b/c/d/e unexpected-file'])
    expect(JSON.stringify(result)).toContain('folders are nested deeper than 4')
  })

  it('never leaves the directory, and opens only files', async () => {
    const dir = dirWith(bundle())
    symlinkSync('/etc/passwd', join(dir, 'rules', 'passwd.yaml'))
    symlinkSync('nowhere', join(dir, 'rules', 'dangling.yaml'))
    symlinkSync('self.yaml', join(dir, 'rules', 'self.yaml'))
    expect(spawnSync('mkfifo', [join(dir, 'rules', 'fifo.yaml')]).status).toBe(0)
    const server = createServer().listen(join(dir, 'rules', 'socket.yaml'))
    onTestFinished(() => void server.close())
    await until(() => server.listening)
    mkdirSync(join(dir, 'rules', 'folder.yaml'))
    expect(codes(await loadBundle(dir)).toSorted()).toEqual(
      ['dangling', 'fifo', 'folder', 'passwd', 'self', 'socket'].map(
        (name) => `rules/${name}.yaml file-unreadable`,
      ),
    )
  })

  it.each(['rules/shared', 'rules/v1.2', 'rules', 'tools'])(
    'refuses the link %s that leads nowhere: it may have been a folder',
    async (path) => {
      const dir = dirWith(bundle())
      rmSync(join(dir, path), { recursive: true, force: true })
      symlinkSync('gone', join(dir, path))
      expect(codes(await loadBundle(dir))).toEqual([`${path} file-unreadable`])
    },
  )

  it('refuses a file instead of a folder, such as a link that was checked out as text', async () => {
    const dir = dirWith(bundle())
    rmSync(join(dir, 'rules'), { recursive: true })
    writeFileSync(join(dir, 'rules'), '../shared/rules')
    expect(codes(await loadBundle(dir))).toEqual(['rules file-unreadable'])
  })

  it('refuses a folder instead of routing.yaml', async () => {
    const dir = dirWith(bundle({ 'routing.yaml': undefined, 'routing.yaml/routing.yaml': 'a: b' }))
    expect(codes(await loadBundle(dir))).toEqual(['routing.yaml file-unreadable'])
  })

  it.each(['Rules', 'rule', 'TOOLS', 'tool'])(
    'refuses the folder %s, regardless of its contents',
    async (name) => {
      const result = await loadBundle(dirWith(bundle({ [`${name}/payments/pay.yaml`]: 'a: b' })))
      expect(codes(result)).toEqual([`${name} unexpected-file`])
      const meant = name.toLowerCase().startsWith('rule') ? 'rules' : 'tools'
      expect(!result.ok && result.diagnostics[0]?.hint).toBe(`name it \`${meant}\``)
    },
  )

  it.each(['pay.yaml ', 'pay.yml\u200b', 'pay\u2024yaml', 'pay.\uff59aml'])(
    'refuses the name %j, which looks like a policy file',
    async (name) => {
      const result = await loadBundle(dirWith(bundle({ [`rules/${name}`]: 'a: b' })))
      expect(result.ok || result.diagnostics.map(({ code }) => code)).toEqual(['unexpected-file'])
    },
  )

  it('does not wait on a FIFO for the label of the commit', async () => {
    const dir = dirWith(bundle())
    mkdirSync(join(dir, '.git'))
    expect(spawnSync('mkfifo', [join(dir, '.git', 'HEAD')]).status).toBe(0)
    const result = await loadBundle(dir)
    expect(result.ok && result.snapshot.commit).toBe(undefined)
    expect(result.ok).toBe(true)
  })

  it('survives a loop of links', async () => {
    const dir = dirWith(bundle())
    symlinkSync('.', join(dir, 'loop'))
    symlinkSync('.', join(dir, 'rules', 'loop'))
    expect(codes(await loadBundle(dir)).every((code) => code.endsWith('unexpected-file'))).toBe(true)
  })

  it('reads a directory.yaml of thousands of entries, which cannot be split like other files', async () => {
    const people = (count: number): string =>
      Array.from(
        { length: count },
        (_, n) => `      r${n}: { name: R ${n}, email: r${n}@acme.example, groups: [leads, on-call] }\n`,
      ).join('')
    const known = bundle()['directory.yaml'] ?? ''
    const thousands = known.replace(/( +reviewers:\n)/, (line) => line + people(4_000))
    expect(codes(await loadBundle(dirWith(bundle({ 'directory.yaml': thousands }))))).toEqual(['ok'])
    const parts = known.replace(
      /( +reviewers:\n)/,
      (line) => `${line}      r: { name: R, groups: [${'x, '.repeat(200_000)}x] }\n`,
    )
    expect(codes(await loadBundle(dirWith(bundle({ 'directory.yaml': parts }))))).toEqual([
      'directory.yaml yaml-nodes',
      'tools/pay.yaml unbounded-integer',
    ])
  })

  it('checks the size before it reads', async () => {
    const dir = dirWith(bundle({ 'rules/big.yaml': `# ${'x'.repeat(600_000)}` }))
    expect(codes(await loadBundle(dir))).toEqual(['rules/big.yaml file-too-large'])
    const crowded = dirWith(bundle({ 'directory.yaml': `# ${'x'.repeat(1_100_000)}` }))
    expect(codes(await loadBundle(crowded))).toEqual(['directory.yaml file-too-large'])
    const many = dirWith(
      bundle(
        Object.fromEntries(
          Array.from({ length: 34 }, (_, n) => [`rules/n${n}.yaml`, `# ${'x'.repeat(500_000)}`]),
        ),
      ),
    )
    expect(codes(await loadBundle(many))).toEqual(['. bundle-too-large'])
  })

  it('refuses bytes that are not UTF-8', async () => {
    const dir = dirWith(bundle())
    writeFileSync(join(dir, 'rules', 'pay.yaml'), Buffer.from([0x61, 0xff]))
    expect(codes(await loadBundle(dir))).toEqual(['rules/pay.yaml not-utf8'])
  })

  it.skipIf(process.getuid?.() === 0)('refuses a file that it may not read', async () => {
    const dir = dirWith(bundle())
    chmodSync(join(dir, 'rules', 'pay.yaml'), 0)
    expect(codes(await loadBundle(dir))).toEqual(['rules/pay.yaml file-unreadable'])
  })

  it('reads the version behind ..data', async () => {
    const dir = tempDir()
    writeFiles(join(dir, '..v1'), bundle())
    symlinkSync('..v1', join(dir, '..data'))
    for (const name of ['routing.yaml', 'directory.yaml', 'tools', 'rules'])
      symlinkSync(join('..data', name), join(dir, name))
    expect(codes(await loadBundle(dir))).toEqual(['ok'])
  })

  it('never mixes two versions while they are swapped', async () => {
    const dir = tempDir()
    const version = (n: number): Files =>
      bundle({
        'rules/pay.yaml': allowing(`v${n}`),
        ...Object.fromEntries(
          Array.from({ length: 10 }, (_, i) => [`rules/f${i}.yaml`, allowing(`v${n}-f${i}`)]),
        ),
      })
    writeFiles(join(dir, 'v0'), version(0))
    writeFiles(join(dir, 'v1'), version(1))
    symlinkSync('v0', join(dir, 'link'))
    let swaps = 0
    const swapping = setInterval(() => {
      symlinkSync(`v${++swaps % 2}`, join(dir, 'next'))
      renameSync(join(dir, 'next'), join(dir, 'link'))
    }, 1)
    onTestFinished(() => clearInterval(swapping))
    for (let n = 0; n < 20; n++) {
      const result = await loadBundle(join(dir, 'link'))
      const versions = result.ok ? result.snapshot.rules.map((rule) => rule.id.slice(0, 2)) : []
      expect(new Set(versions).size).toBeLessThan(2)
    }
    expect(swaps).toBeGreaterThan(5)
  })
})

describe('the child process', () => {
  const script = (text: string): URL => {
    const dir = tempDir()
    writeFiles(dir, { 'child.mjs': text })
    return new URL(`file://${dir}/child.mjs`)
  }

  it('loads the same snapshot as this process', async () => {
    const dir = dirWith(bundle())
    const [here, there] = [await loadBundle(dir), await loadBundleInChild(dir, { childUrl: CHILD })]
    if (!here.ok || !there.ok) throw new Error('a load failed')
    expect(there.snapshot.revision).toBe(here.snapshot.revision)
    expect([...there.snapshot.tools]).toEqual([...here.snapshot.tools])
    expect(there.snapshot.directory).toEqual(here.snapshot.directory)
    for (const amount of [1, 11])
      expect(await there.snapshot.decide(call({ amount }))).toEqual(
        await here.snapshot.decide(call({ amount })),
      )
  })

  it('loads files that are in no directory', async () => {
    const texts = Object.entries(bundle()).map(([path, text]) => ({ path, text }))
    const [here, there] = [
      await loadBundle(dirWith(bundle())),
      await loadBundleInChild('nowhere', { childUrl: CHILD, texts }),
    ]
    expect([here.ok && here.snapshot.revision]).toEqual([there.ok && there.snapshot.revision])
    const broken = texts.map((one) => ({ ...one, text: `${one.text}no_such_key: 1\n` }))
    expect((await loadBundleInChild('nowhere', { childUrl: CHILD, texts: broken })).ok).toBe(false)
  })

  it('reports the same diagnostics as this process', async () => {
    const dir = dirWith(bundle({ 'rules/pay.yaml': 'tool: pya\nrules: []\n' }))
    expect(await loadBundleInChild(dir, { childUrl: CHILD })).toEqual(await loadBundle(dir))
  })

  it('is killed when it takes too long', async () => {
    const childUrl = script('for (;;);')
    const started = startBundleChild(dirWith(bundle()), { url: childUrl })
    const result = await loadBundleInChild(dirWith(bundle()), { started, timeoutMs: 100 })
    expect(codes(result)).toEqual(['. load-timeout'])
    expect(await started.ended).toBe('SIGKILL')
    expect(codes(await loadBundleInChild(dirWith(bundle()), { childUrl, timeoutMs: 100 }))).toEqual([
      '. load-timeout',
    ])
  })

  it.skipIf(process.platform !== 'linux')('may wait longer than it may work', async () => {
    const childUrl = script(`process.on('message', () => 0); setTimeout(() => process.exit(3), 2_500)`)
    const started = startBundleChild(dirWith(bundle()), { url: childUrl })
    const result = await loadBundleInChild(dirWith(bundle()), { started, timeoutMs: 1_500 })
    expect(codes(result)).toEqual(['. load-crashed'])
    expect(await started.ended).toBe('exit code 3')
  })

  it('is killed when the caller no longer waits, and no other child starts', async () => {
    const closing = new AbortController()
    const { signal } = closing
    const childUrl = script('for (;;);')
    const started = startBundleChild(dirWith(bundle()), { url: childUrl })
    const loading = loadBundleInChild(dirWith(bundle()), { started, signal })
    closing.abort()
    expect(codes(await loading)).toEqual(['. load-crashed'])
    expect(await started.ended).toBe('SIGKILL')
    expect(codes(await loadBundleInChild(dirWith(bundle()), { childUrl, signal }))).toEqual([
      '. load-crashed',
    ])
  })

  it('may send something other than a bundle: the load fails without a throw', async () => {
    const childUrl = script(
      `process.on('message', () => process.send({ kind: 'head', head: {} }) && process.send({ kind: 'done' }))`,
    )
    const result = await loadBundleInChild(dirWith(bundle()), { childUrl })
    expect(codes(result)).toEqual(['. load-crashed'])
    expect(JSON.stringify(result)).toContain('sent an incomplete one')
  })

  it('is tried again at normal priority when it makes no progress in the background', async () => {
    const childUrl = script(`if (process.argv[3]) for (;;); await import(${JSON.stringify(CHILD.href)})`)
    expect(codes(await loadBundleInChild(dirWith(bundle()), { childUrl, timeoutMs: 5_000 }))).toEqual(['ok'])
  })

  it.each([
    ['throws', 'throw new Error("secret path")', 'exit code 1'],
    ['ends without a word', '0', 'exit code 0'],
    ['is killed by the system', 'process.kill(process.pid, "SIGKILL")', 'SIGKILL'],
    ['needs too much memory', 'const all = []; for (;;) all.push({ a: [all.length] })', 'SIGABRT'],
  ])('may crash without harm: it %s', async (_, text, how) => {
    const result = await loadBundleInChild(dirWith(bundle()), { childUrl: script(text) })
    expect(codes(result)).toEqual(['. load-crashed'])
    const [{ message } = { message: '' }] = result.ok ? [] : result.diagnostics
    expect(message).toMatch(new RegExp(`ended before it had sent it: ${how}$`))
  })

  it('starts another child when one makes no progress in the background, long before the timeout', async () => {
    const childUrl = script(`if (process.argv[3]) for (;;); await import(${JSON.stringify(CHILD.href)})`)
    const started = performance.now()
    const result = await loadBundleInChild(dirWith(bundle()), { childUrl, timeoutMs: 60_000, patienceMs: 50 })
    expect(codes(result)).toEqual(['ok'])
    expect(performance.now() - started).toBeLessThan(50_000)
  })

  it('may fail to start: the load fails without a throw', async () => {
    const { execPath } = process
    process.execPath = '/no/such/node'
    onTestFinished(() => {
      process.execPath = execPath
    })
    const result = await loadBundleInChild(dirWith(bundle()), { childUrl: CHILD })
    expect(codes(result)).toEqual(['. load-crashed'])
    expect(JSON.stringify(result)).toContain('ENOENT')
  })

  it.skipIf(process.platform !== 'linux')(
    'reports that no file descriptor is left for the child process',
    async () => {
      const host = new URL('../../../dist/policy/bundle/host.js', import.meta.url)
      const full = `
      const { openSync } = await import('node:fs')
      const { loadBundleInChild } = await import(${JSON.stringify(host.href)})
      try { for (;;) openSync('/dev/null') } catch {}
      const { diagnostics } = await loadBundleInChild('/no/such/bundle')
      process.stdout.write(diagnostics[0].message)`
      const limited = ['-c', 'ulimit -n 128 && exec "$@"', 'sh', process.execPath]
      const child = spawn('sh', [...limited, '--input-type=module', '--eval', full])
      const said: Buffer[] = []
      child.stdout.on('data', (part: Buffer) => said.push(part))
      await once(child, 'close')
      expect(Buffer.concat(said).toString()).toBe('no process can be started to check the bundle: EMFILE')
    },
  )

  /** Started, and through with what it reads: it has sent the first part. */
  async function reading(inBackground: boolean) {
    const child = startBundleChild(dirWith(bundle()), { url: CHILD, inBackground })
    const parts: string[] = []
    child.onPart((part) => parts.push(part.kind))
    const next = async (): Promise<void> => {
      const before = parts.length
      child.next()
      await until(() => parts.length > before)
    }
    await next()
    return { pid: Number(child.pid), parts, next, ended: child.ended, end: () => child.end() }
  }

  it.skipIf(process.platform !== 'linux')(
    'has low priority in every thread in the background, and this process keeps its own',
    async () => {
      const usual = getPriority(process.pid)
      const before = priorities(process.pid)
      for (const inBackground of [true, false]) {
        const child = await reading(inBackground)
        const threads = priorities(child.pid)
        expect(threads.length).toBeGreaterThan(5)
        expect(new Set(threads)).toEqual(new Set([inBackground ? Math.min(usual + 12, 19) : usual]))
        await child.end()
      }
      expect(new Set(priorities(process.pid))).toEqual(new Set(before))
    },
  )

  it('ignores signals that stop all processes of a gateway, because the gateway ends it', async () => {
    const child = await reading(false)
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.kill(child.pid, signal)
    while (child.parts.at(-1) !== 'done') await child.next()
    await child.end()
    expect(await child.ended).toBe('SIGKILL')
  })

  it('does not outlive the gateway, regardless of how the gateway exits', async () => {
    const start = new URL('../../../dist/policy/bundle/start.js', import.meta.url)
    const gateway = spawn(process.execPath, [
      '--input-type=module',
      '--eval',
      `import { startBundleChild } from ${JSON.stringify(start.href)}
       console.log(startBundleChild(${JSON.stringify(dirWith(bundle()))}).pid)`,
    ])
    const [line] = (await once(gateway.stdout, 'data')) as [Buffer]
    const isThere = (): boolean => {
      try {
        return process.kill(Number(line), 0)
      } catch {
        return false
      }
    }
    expect(isThere()).toBe(true)
    gateway.kill('SIGKILL')
    await until(() => !isThere())
  })

  it('never stalls this thread, regardless of the size of the bundle', async () => {
    const tool = (n: number): string =>
      `tool: t${n}\ndescription: d\nrisk: low\ninput_schema: { type: object, properties: { amount: { type: integer } } }\n`
    const rule = (n: number): string =>
      rules(
        Array.from(
          { length: 10 },
          (_, i) => `  - id: t${n}-${i}\n    allow: A.\n    when: { payload.amount: { at_most: ${i} } }\n`,
        ).join(''),
        `tool: t${n}`,
      )
    const dir = dirWith(
      bundle(
        Object.fromEntries(
          Array.from({ length: 250 }, (_, n) => [
            [`tools/t${n}.yaml`, tool(n)],
            [`rules/t${n}.yaml`, rule(n)],
          ]).flat() as [string, string][],
        ),
      ),
    )
    let longest = 0
    let last = threadMs()
    const beat = setInterval(() => {
      const now = threadMs()
      longest = Math.max(longest, now - last)
      last = now
    }, 1)
    onTestFinished(() => clearInterval(beat))
    const result = await loadBundleInChild(dir, { childUrl: CHILD, timeoutMs: 60_000 })
    clearInterval(beat)
    expect(codes(result)).toEqual(['ok'])
    expect(result.ok && result.snapshot.rules.length).toBe(2_501)
    // loading it here would be one stall of a second
    expect(longest).toBeLessThan(200)
  })
})

interface Watched {
  readonly watch: BundleWatch
  readonly loaded: string[]
  readonly failed: (readonly Diagnostic[])[]
  loads: number
}

function watching(dir: string, options: Partial<WatchOptions> = {}): Watched {
  const watched: { -readonly [K in keyof Watched]: Watched[K] } = {
    watch: undefined as unknown as BundleWatch,
    loaded: [],
    failed: [],
    loads: 0,
  }
  watched.watch = watchBundle(dir, {
    load: () => {
      watched.loads++
      return loadBundle(dir)
    },
    onLoaded: (snapshot) => watched.loaded.push(snapshot.rules.map((rule) => rule.id).join()),
    onFailed: (diagnostics) => watched.failed.push(diagnostics),
    onWithdrawn: () => undefined,
    quietMs: 20,
    rescanMs: 50,
    ...options,
  })
  onTestFinished(() => watched.watch.close())
  return watched
}

describe('watching a bundle', () => {
  it('ends the current load when it is closed', async () => {
    let begun = (): void => undefined
    const loading = new Promise<void>((resolve) => (begun = resolve))
    const { watch, loaded, failed } = watching(dirWith(bundle()), {
      load: async (signal) => {
        begun()
        await once(signal, 'abort')
        return loadBundle('.')
      },
    })
    await loading
    await watch.close()
    expect([loaded, failed]).toEqual([[], []])
  })

  it('loads immediately, and again when a file changes', async () => {
    const dir = dirWith(bundle({ 'rules/pay.yaml': allowing('one') }))
    const watched = watching(dir)
    await watched.watch.ready
    expect(watched.loaded).toEqual(['one'])
    writeFiles(dir, { 'rules/pay.yaml': allowing('two') })
    await until(() => watched.loaded.length === 2)
    expect(watched.loaded).toEqual(['one', 'two'])
  })

  it('notices a change by events alone', async () => {
    const dir = dirWith(bundle({ 'rules/pay.yaml': allowing('one') }))
    const watched = watching(dir, { rescanMs: 1_000_000 })
    await watched.watch.ready
    let n = 0
    // The watcher becomes ready by itself; writing until it is noticed needs no luck.
    const writing = setInterval(() => writeFiles(dir, { 'rules/pay.yaml': allowing(`two-${++n}`) }), 200)
    onTestFinished(() => clearInterval(writing))
    await until(() => watched.loaded.length > 1)
  })

  it('notices a swapped link, which sends no event', async () => {
    const dir = tempDir()
    writeFiles(join(dir, 'v1'), bundle({ 'rules/pay.yaml': allowing('one') }))
    writeFiles(join(dir, 'v2'), bundle({ 'rules/pay.yaml': allowing('two') }))
    symlinkSync('v1', join(dir, 'link'))
    const watched = watching(join(dir, 'link'))
    await watched.watch.ready
    symlinkSync('v2', join(dir, 'next'))
    renameSync(join(dir, 'next'), join(dir, 'link'))
    await until(() => watched.loaded.length === 2)
    expect(watched.loaded).toEqual(['one', 'two'])
  })

  it('keeps the last good bundle while the files have errors, and reports when they are good again', async () => {
    const dir = dirWith(bundle({ 'rules/pay.yaml': allowing('one') }))
    const watched = watching(dir)
    await watched.watch.ready
    writeFiles(dir, { 'rules/pay.yaml': 'tool: pay\nrules:\n  - {' })
    await until(() => watched.failed.length === 1)
    expect(watched.loaded).toEqual(['one'])
    writeFiles(dir, { 'rules/pay.yaml': allowing('one') })
    await until(() => watched.loaded.length === 2)
    rmSync(join(dir, 'rules', 'pay.yaml'))
    mkdirSync(join(dir, 'rules', 'pay.yaml'))
    const last = (): string | undefined => watched.failed.at(-1)?.[0]?.code
    await until(() => last() === 'file-unreadable')
    rmSync(dir, { recursive: true })
    await until(() => last() === 'bundle-unreadable')
    // Between `rmSync` and `mkdirSync` a bundle without the file is valid too. Both run in one turn of the event loop.
    expect(watched.loaded).toEqual(['one', 'one'])
  })

  it('does not report a touched file as a change', async () => {
    const dir = dirWith(bundle({ 'rules/pay.yaml': allowing('one') }))
    const watched = watching(dir)
    await watched.watch.ready
    writeFiles(dir, { 'rules/pay.yaml': allowing('one') })
    await until(() => watched.loads === 2)
    await watched.watch.check()
    expect(watched.loaded).toEqual(['one'])
  })

  it('combines 2,000 writes into few loads', async () => {
    const dir = dirWith(bundle({ 'rules/pay.yaml': allowing('one') }))
    const watched = watching(dir, { quietMs: 100, rescanMs: 1_000 })
    await watched.watch.ready
    for (let n = 0; n < 2_000; n++) {
      writeFiles(dir, { 'rules/pay.yaml': allowing(`n-${n}`) })
      if (n % 50 === 0) await new Promise((resolve) => setImmediate(resolve))
    }
    await until(() => watched.loaded.at(-1) === 'n-1999')
    expect(watched.loads).toBeLessThan(12)
  })

  it('runs one load at a time, and one more for all changes during that load', async () => {
    const dir = dirWith(bundle())
    let running = 0
    let most = 0
    const load = async (): Promise<LoadResult> => {
      most = Math.max(most, ++running)
      const result = await loadBundle(dir)
      running--
      return result
    }
    const watched = watching(dir, { load })
    await Promise.all(
      Array.from({ length: 20 }, (_, n) => {
        writeFiles(dir, { 'rules/pay.yaml': allowing(`n-${n}`) })
        return watched.watch.check()
      }),
    )
    await until(() => watched.loaded.at(-1) === 'n-19')
    expect(most).toBe(1)
  })

  it('reports nothing and runs nothing after close', async () => {
    const dir = dirWith(bundle({ 'rules/pay.yaml': allowing('one') }))
    const watched = watching(dir)
    await watched.watch.ready
    await watched.watch.close()
    const { loads } = watched
    writeFiles(dir, { 'rules/pay.yaml': allowing('two') })
    await watched.watch.check()
    await new Promise((resolve) => setTimeout(resolve, 150))
    expect([watched.loads, watched.loaded]).toEqual([loads, ['one']])
  })
})
