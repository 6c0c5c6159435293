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

  it('starts with one script', () => {
    const [script, ...others] = [...page.matchAll(/<script[^>]* src="\.\/assets\/([^"]+)"/g)]
    expect(others).toEqual([])
    expect(scripts).toContain(script?.[1])
    expect(page).not.toMatch(/playground|evaluator|-page|several/)
  })

  it('loads one more for the table of several calls, of less than 8 kB, and one for each other page', () => {
    const sizes = Object.fromEntries(
      scripts.map((name) => [name.replace(/-[\w-]{8}\.js$/, ''), gzipped(name)]),
    )
    // the playground has the text of every recipe
    const most = {
      'several-pane': 8_000,
      'agents-page': 3_000,
      'chats-page': 3_000,
      'history-page': 3_000,
      'policies-page': 3_000,
      'webhooks-page': 3_000,
      finding: 1_000,
      'playground-page': 28_000,
      evaluator: 244_000,
      index: 47_500,
    }
    expect(Object.keys(sizes).toSorted()).toEqual(Object.keys(most).toSorted())
    for (const [name, limit] of Object.entries(most)) expect(sizes[name], name).toBeLessThan(limit)
  })

  it('has one style sheet and one icon, with a hash in each name and a compressed copy of each file', () => {
    const kinds = names
      .filter((name) => !/\.(gz|br)$/.test(name))
      .map((name) => name.replace(/-[\w-]+\./, '-#.'))
    expect(kinds.filter((name) => !name.endsWith('.js')).toSorted()).toEqual(['icon-#.svg', 'index-#.css'])
    for (const name of names.filter((one) => one.endsWith('.gz'))) {
      const plain = readFileSync(new URL(`assets/${name.slice(0, -3)}`, BUILT))
      expect(gunzipSync(readFileSync(new URL(`assets/${name}`, BUILT))).equals(plain), name).toBe(true)
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
