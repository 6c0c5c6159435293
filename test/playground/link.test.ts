import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { linkOf, readLink } from '../../src/playground/link.ts'
import { RECIPES, recipesOf } from '../../src/playground/recipes.ts'

const cookbook = readFileSync(new URL('../../docs/cookbook.md', import.meta.url), 'utf8')

describe('a link', () => {
  it('contains bundle and call exactly', async () => {
    const files = [{ path: 'rules/a.yaml', text: 'tool: ß\n# \u{1f680} "\\\n'.repeat(500) }]
    const link = await linkOf(files, '{"tool_name":"ß"}')
    expect(link).toMatch(/^bundle=[\w-]+$/)
    expect(link.length).toBeLessThan(400)
    expect(await readLink(link)).toEqual({ files, request: '{"tool_name":"ß"}' })
  })

  it('names a recipe', async () => {
    expect(await readLink('recipe=two%20groups')).toEqual({ recipe: 'two groups' })
  })

  it.each(['', 'recipe=', 'recipe=%E0%A4%A', 'bundle=', 'bundle=!', 'bundle=AAAA', 'other=1'])(
    'yields nothing when it cannot be read: %j',
    async (link) => {
      expect(await readLink(link)).toBeUndefined()
    },
  )

  it('yields nothing for a bundle above 1 MiB, without inflating the rest of it', async () => {
    const link = await linkOf([{ path: 'rules/a.yaml', text: 'a'.repeat(64 * 1024 * 1024) }], '{}')
    expect(link.length).toBeLessThan(128 * 1024)
    const before = process.memoryUsage().arrayBuffers
    expect(await readLink(link)).toBeUndefined()
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(16 * 1024 * 1024)
    const fits = await linkOf([{ path: 'rules/a.yaml', text: 'a'.repeat(1024 * 1024 - 100) }], '{}')
    expect(await readLink(fits)).toBeDefined()
  })

  it('yields nothing when it contains anything but a bundle', async () => {
    const ofNumbers = [{ path: 1, text: 'x' }] as unknown as Parameters<typeof linkOf>[0]
    expect(await readLink(await linkOf(ofNumbers, '{}'))).toBeUndefined()
    expect(await readLink(await linkOf([], 1 as unknown as string))).toBeUndefined()
  })
})

describe('the recipes', () => {
  it('the recipes are exactly those that the cookbook opens, and the starter policies', () => {
    const linked = [...cookbook.matchAll(/playground\.md#recipe=([\w-]+)/g)].map(([, name = '']) => name)
    expect(linked.length).toBeGreaterThan(10)
    expect(new Set(RECIPES.keys())).toEqual(new Set([...linked, 'starter']))
  })

  it('the recipes contain a bundle each, rules first', () => {
    const root = '../..'
    const recipes = recipesOf({
      [`${root}/examples/policies/b/routing.yaml`]: '1',
      [`${root}/examples/policies/b/tools/x.yaml`]: '2',
      [`${root}/examples/policies/b/rules/z.yaml`]: '3',
      [`${root}/examples/policies/b/rules/a.yaml`]: '4',
      [`${root}/policies/rules/r.yaml`]: '5',
      [`${root}/policies/directory.yaml`]: '6',
    })
    const paths = [...recipes].map(([name, files]) => [name, ...files.map(({ path }) => path)])
    expect(paths).toEqual([
      ['b', 'rules/a.yaml', 'rules/z.yaml', 'tools/x.yaml', 'routing.yaml'],
      ['starter', 'rules/r.yaml', 'directory.yaml'],
    ])
  })
})
