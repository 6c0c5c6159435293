import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { kebab, SETTINGS } from '../src/config.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const documents = [
  ...readdirSync(root).filter((name) => name.endsWith('.md')),
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
  'deploy/README.md',
]

describe('the documents', () => {
  it('link only to files that exist', () => {
    const broken = documents.flatMap((path) =>
      [...read(path).matchAll(/\]\((?!https?:|#)([^)#]+)/g)]
        .map((match) => match[1] ?? '')
        .filter((target) => !existsSync(join(root, dirname(path), target)))
        .map((target) => `${path} -> ${target}`),
    )
    expect(broken).toEqual([])
  })

  it('name only npm scripts that exist', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
    const known = [...Object.keys(scripts), 'ci', 'install', 'i', 'ls']
    const named = documents.flatMap((path) => [
      ...[...read(path).matchAll(/npm run ([\w:-]+)/g)].map((match) => match[1] ?? ''),
      ...[...read(path).matchAll(/`npm (start|test|demo)`/g)].map((match) => match[1] ?? ''),
    ])
    expect(named.filter((name) => !known.includes(name))).toEqual([])
  })

  it('are what CI runs: the test command of the README is the one of .ci/run', () => {
    expect(read('README.md')).toContain('npm ci && npm run check')
    expect(read('.ci/run')).toMatch(/^npm ci$\n^npm run check$/m)
  })
})

describe('docs/operations.md', () => {
  const table = read('docs/operations.md')

  it('lists every setting with its variable, flag and default', () => {
    for (const setting of SETTINGS) {
      const flag = kebab(setting.key)
      const variable = `COUNTERSIGN_${flag.replaceAll('-', '_').toUpperCase()}`
      const row = table.split('\n').find((line) => line.includes(`| \`${variable}\` |`))
      expect(row, variable).toContain(`\`--${flag}\``)
      if (setting.default !== undefined) expect(row, variable).toContain(`\`${setting.default}\``)
    }
  })

  it('lists no setting that does not exist', () => {
    const rows = [...table.matchAll(/\| `(COUNTERSIGN_\w+)` \|/g)].length
    expect(rows).toBe(SETTINGS.length)
  })
})
