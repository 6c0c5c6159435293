import { existsSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { SETTING_ROWS } from '../../src/settings/settings.ts'
import { healthCommand, isSentToBuilder, stages } from './dockerfile.ts'
import { at, lines, read } from './files.ts'

const [build, runtime] = stages()
const packaged = JSON.parse(read('package.json')) as { version: string; license: string; files: string[] }
const defaultOf = (key: string): unknown => SETTING_ROWS.find((setting) => setting.key === key)?.default

describe('the Dockerfile', () => {
  it('builds in one stage and runs in another, both on the same pinned Debian', () => {
    expect(stages()).toHaveLength(2)
    expect(runtime.image).toMatch(/^node:22\.\d+\.\d+-bookworm-slim$/)
    expect(build.image).toBe(runtime.image)
  })

  it('downloads nothing by URL', () => {
    const all = [...build.instructions, ...runtime.instructions]
    expect(all.filter(({ keyword }) => keyword === 'ADD')).toEqual([])
    const running = all.filter(({ keyword }) => keyword === 'RUN' || keyword === 'COPY')
    expect(running.filter(({ args }) => /https?:|curl|wget/.test(args.join(' ')))).toEqual([])
  })

  it("installs the lock file's packages, and ships none that only development needs", () => {
    const commands = build.instructions
      .filter(({ keyword }) => keyword === 'RUN')
      .map(({ args }) => args.join(' '))
    expect(commands).toEqual(['npm ci', 'npm run build', 'npm prune --omit=dev --workspaces=false'])
  })

  it('copies only files that exist and that the build context contains', () => {
    const sources = [...build.instructions, ...runtime.instructions]
      .filter(({ keyword, from }) => keyword === 'COPY' && from === undefined)
      .flatMap(({ args }) => args.slice(0, -1))
    expect(sources.length).toBeGreaterThan(10)
    for (const source of sources) {
      expect(existsSync(at(source)), source).toBe(true)
      expect(isSentToBuilder(source), source).toBe(true)
    }
  })

  it('sends no other files to the builder', () => {
    const allowed = lines(read('.dockerignore')).filter((line) => !line.startsWith('#'))
    expect(allowed[0]).toBe('*')
    const copied = [...build.instructions, ...runtime.instructions].flatMap(({ args }) => args)
    for (const line of allowed.slice(1).filter((one) => one.startsWith('!')))
      expect(copied, line).toContain(line.replace(/^!/, ''))
  })

  it('ships the files of the npm package', () => {
    const shipped = runtime.instructions
      .filter(({ keyword }) => keyword === 'COPY')
      .flatMap(({ args }) => args.slice(0, -1).map((source) => source.replace(/^\/src\//, '')))
    const always = ['package.json', 'LICENSE', 'README.md']
    const [inside, outside] = [false, true].map((not) =>
      packaged.files.filter((one: string) => one.startsWith('!') === not),
    ) as [string[], string[]]
    expect(shipped.toSorted()).toEqual([...inside, ...always, 'node_modules'].toSorted())
    const ignored = lines(read('.dockerignore')).filter((line) => !/^[!#*]/.test(line))
    expect(ignored).toEqual(outside.map((one) => one.slice(1)))
  })

  it('runs as a numeric user that is not root', () => {
    const users = runtime.instructions.filter(({ keyword }) => keyword === 'USER')
    expect(users.at(-1)?.args).toEqual(['10001:10001'])
    const [data] = runtime.instructions.filter(({ keyword }) => keyword === 'RUN')
    expect(data?.args.join(' ')).toBe('install -d -o 10001 -g 10001 -m 0700 /var/lib/countersign')
    expect(runtime.env['COUNTERSIGN_STORE']).toBe('file:/var/lib/countersign')
  })

  it('starts the program directly, so that it gets the signals', () => {
    const flags = ['--v8-pool-size=0', '--min-semi-space-size=16']
    expect(runtime.json('ENTRYPOINT')).toEqual(['node', ...flags, '/opt/countersign/dist/bin/main.js'])
    expect(runtime.json('CMD')).toEqual(['serve'])
    expect(runtime.instructions.find(({ keyword }) => keyword === 'STOPSIGNAL')?.args).toEqual(['SIGTERM'])
  })

  it('listens on IPv4 and IPv6, and checks health at the configured address', () => {
    expect([runtime.env['COUNTERSIGN_HOST'], runtime.env['COUNTERSIGN_METRICS_HOST']]).toEqual(['::', '::'])
    // test/cli/health.test.ts has what the command does
    const program = runtime.json('ENTRYPOINT').at(-1)
    expect(healthCommand()).toEqual(['node', program, 'health', '--of', '1'])
  })

  it('exposes the default ports', () => {
    const exposed = runtime.instructions.find(({ keyword }) => keyword === 'EXPOSE')?.args
    expect(exposed).toEqual([String(defaultOf('port')), String(defaultOf('metricsPort'))])
  })

  it('has labels that describe the image', () => {
    const label = runtime.labels
    expect(label['org.opencontainers.image.version']).toBe(packaged.version)
    expect(label['org.opencontainers.image.licenses']).toBe(packaged.license)
  })
})
