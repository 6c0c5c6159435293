import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { prepareDirectory } from '../../src/policy/bundle/directory.ts'
import { NOON } from './support.ts'

/**
 * The recipes of docs/cookbook.md. Each is a bundle that checks without a warning. Its tests fire every rule and limit.
 */

const EXAMPLES = fileURLToPath(new URL('../../examples/policies', import.meta.url))
const COOKBOOK = readFileSync(new URL('../../docs/cookbook.md', import.meta.url), 'utf8')
const recipes = readdirSync(EXAMPLES).sort()

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

  it.each(recipes)('%s checks, and its tests fire every rule', async (name) => {
    const bundle = await prepareDirectory(`${EXAMPLES}/${name}`, { now: NOON })
    expect(bundle.ok ? bundle.snapshot.diagnostics : bundle.diagnostics).toEqual([])
    if (!bundle.ok) return
    const fired = new Set(bundle.results.flatMap(({ outcome }) => outcome?.fired.map(({ id }) => id) ?? []))
    expect(bundle.snapshot.rules.map(({ id }) => id).filter((id) => !fired.has(id))).toEqual([])
    expect(bundle.results.filter(({ problems }) => problems.length > 0)).toEqual([])
  })
})
