import { readdirSync, readFileSync, statSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'

/** The files that a browser loads (docs/decisions/0014). The build has run before the tests. */

const BUILT = new URL('../../dist/console/', import.meta.url)
const names = readdirSync(new URL('assets/', BUILT))
const gzipped = (name: string): number => statSync(new URL(`assets/${name}.gz`, BUILT)).size
const page = readFileSync(new URL('index.html', BUILT), 'utf8')

describe('the built console', () => {
  const scripts = names.filter((name) => name.endsWith('.js'))

  it('starts with one script, of less than 47.5 kB compressed', () => {
    const [script, ...others] = [...page.matchAll(/<script[^>]* src="\.\/assets\/([^"]+)"/g)]
    expect(others).toEqual([])
    expect(scripts).toContain(script?.[1])
    expect(gzipped(script?.[1] ?? '')).toBeLessThan(47_500)
    expect(page).not.toMatch(/playground|evaluator|more-pages/)
  })

  it('loads one more script for the table of several calls and the other pages, of less than 14 kB', () => {
    expect(gzipped(scripts.find((one) => one.startsWith('more-pages-')) ?? '')).toBeLessThan(14_000)
  })

  it('loads two more for the playground, beside a small one that both share', () => {
    const sizeOf = (name: string): number => gzipped(scripts.find((one) => one.startsWith(name)) ?? '')
    expect(scripts).toHaveLength(5)
    expect(sizeOf('explanation-')).toBeLessThan(1_000)
    // it has the text of every recipe
    expect(sizeOf('playground-page-')).toBeLessThan(28_000)
    expect(sizeOf('evaluator-')).toBeLessThan(240_000)
  })

  it('has one style sheet and one icon, with a hash in each name and a compressed copy of each file', () => {
    const kinds = names
      .filter((name) => !/\.(gz|br)$/.test(name))
      .map((name) => name.replace(/-[\w-]+\./, '-#.'))
    expect(kinds.toSorted()).toEqual([
      'evaluator-#.js',
      'explanation-#.js',
      'icon-#.svg',
      'index-#.css',
      'index-#.js',
      'more-#.js',
      'playground-#.js',
    ])
    for (const name of names.filter((one) => one.endsWith('.gz'))) {
      const plain = readFileSync(new URL(`assets/${name.slice(0, -3)}`, BUILT))
      expect(gunzipSync(readFileSync(new URL(`assets/${name}`, BUILT)))).toEqual(plain)
      expect(names).toContain(name.replace(/gz$/, 'br'))
    }
  })

  it('has no script or style in the page itself, and loads nothing from elsewhere', () => {
    expect(page).not.toMatch(/<style|style=|\son\w+=|https?:/)
    expect([...page.matchAll(/<script[^>]*>([^]*?)<\/script>/g)].map((match) => match[1])).toEqual([''])
    // the evaluator compiles contracts, under a policy of its own: test/http/console.test.ts
    for (const name of scripts.filter((one) => !one.startsWith('evaluator-'))) {
      const text = readFileSync(new URL(`assets/${name}`, BUILT), 'utf8')
      expect(text).not.toMatch(/\beval\(|new Function\(|document\.write/)
    }
  })

  it('contains the licences of all compiled packages', () => {
    const licences = readFileSync(new URL('LICENSES.txt', BUILT), 'utf8')
    const [heads, texts] = [
      /^(?:@[\w-]+\/)?[\w-]+$/gm,
      /Permission (is hereby granted|to use)|Redistribution and use/g,
    ]
    const names = licences.match(heads) ?? []
    for (const name of ['preact', '@preact/signals', 'ajv', 're2js', 'yaml', 'json-rules-engine', 'buffer'])
      expect(names).toContain(name)
    expect(licences.match(texts)?.length).toBeGreaterThanOrEqual(names.length)
  })
})
