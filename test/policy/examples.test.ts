import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { prepareDirectory } from '../../src/policy/bundle/directory.ts'
import { NOON } from './support.ts'

/**
 * The recipes of docs/cookbook.md and the published policies. Each is a bundle that checks without a warning. Its tests
 * fire every rule and limit.
 */

const EXAMPLES = fileURLToPath(new URL('../../examples/policies', import.meta.url))
const PUBLISHED = fileURLToPath(new URL('../../examples/published', import.meta.url))
const COOKBOOK = readFileSync(new URL('../../docs/cookbook.md', import.meta.url), 'utf8')
const recipes = readdirSync(EXAMPLES).sort()
const published = readdirSync(PUBLISHED)
  .filter((name) => name !== 'README.md')
  .sort()

describe('the cookbook', () => {
  it('the cookbook has at least fifteen recipes, and each names an existing file', () => {
    expect(recipes.length).toBeGreaterThanOrEqual(15)
    const named = [...COOKBOOK.matchAll(/\[([\w-]+)\]\(\.\.\/examples\/policies\/([\w./-]+)\)/g)]
    expect(named.map(([, name = '']) => name).sort()).toEqual(recipes)
    for (const [, name, path = ''] of named) {
      expect(path.split('/')[0]).toBe(name)
      expect(readFileSync(`${EXAMPLES}/${path}`, 'utf8')).not.toBe('')
    }
  })
})

describe('the published policies', () => {
  it('their page has a row with a source for each, and counts all 48', () => {
    const page = readFileSync(`${PUBLISHED}/README.md`, 'utf8')
    const rows = [...page.matchAll(/^\| \[([\w-]+)\]\(\1\) \| [^|]*\]\(https:[^|]* \| [^|]+ \| [^|]+ \|$/gm)]
    expect(rows.map(([, name = '']) => name).sort()).toEqual(published)
    expect(published.length).toBeGreaterThanOrEqual(10)
    const [, full = ''] = /\*\*(\d+) of them fully\*\*/.exec(page) ?? []
    const missing = page.split('| policy | what is missing |')[1]?.match(/^\| \w/gm) ?? []
    expect(Number(full) + missing.length).toBe(48)
  })
})

describe('each example', () => {
  const folders = [
    ...recipes.map((name) => `${EXAMPLES}/${name}`),
    ...published.map((name) => `${PUBLISHED}/${name}`),
  ]
  it.each(folders)('%s checks, and its tests fire every rule and limit', async (folder) => {
    const bundle = await prepareDirectory(folder, { now: NOON })
    expect(bundle.ok ? bundle.snapshot.diagnostics : bundle.diagnostics).toEqual([])
    if (!bundle.ok) return
    const fired = new Set(bundle.results.flatMap(({ outcome }) => outcome?.fired.map(({ id }) => id) ?? []))
    expect(bundle.snapshot.rules.map(({ id }) => id).filter((id) => !fired.has(id))).toEqual([])
    expect(bundle.results.filter(({ problems }) => problems.length > 0)).toEqual([])
  })
})
