import { readdirSync, readFileSync, statSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'

/** What a browser loads (docs/decisions/0014). The build has run before the tests. */

const BUILT = new URL('../../dist/console/', import.meta.url)
const names = readdirSync(new URL('assets/', BUILT))
const gzipped = (name: string): number => statSync(new URL(`assets/${name}.gz`, BUILT)).size
const page = readFileSync(new URL('index.html', BUILT), 'utf8')

describe('the built console', () => {
  const scripts = names.filter((name) => name.endsWith('.js'))

  it('has one script, of less than 36 kB compressed', () => {
    expect(scripts).toEqual([/<script type="module"[^>]* src="\.\/assets\/([^"]+)"/.exec(page)?.[1]])
    expect(gzipped(scripts[0] ?? '')).toBeLessThan(36_000)
  })

  it('has one style sheet and one icon, each file compressed beside itself, with the hash in the name', () => {
    const kinds = names
      .filter((name) => !/\.(gz|br)$/.test(name))
      .map((name) => name.replace(/-[\w-]+\./, '-#.'))
    expect(kinds.toSorted()).toEqual(['icon-#.svg', 'index-#.css', 'index-#.js'])
    for (const name of names.filter((one) => one.endsWith('.gz'))) {
      const plain = readFileSync(new URL(`assets/${name.slice(0, -3)}`, BUILT))
      expect(gunzipSync(readFileSync(new URL(`assets/${name}`, BUILT)))).toEqual(plain)
      expect(names).toContain(name.replace(/gz$/, 'br'))
    }
  })

  it('has no script and no style in the page itself, and nothing from elsewhere', () => {
    expect(page).not.toMatch(/<style|style=|\son\w+=|https?:/)
    expect([...page.matchAll(/<script[^>]*>([^]*?)<\/script>/g)].map((match) => match[1])).toEqual([''])
    for (const name of scripts) {
      const text = readFileSync(new URL(`assets/${name}`, BUILT), 'utf8')
      expect(text).not.toMatch(/\beval\(|new Function\(|document\.write/)
    }
  })

  it('comes with the licences of what is compiled into it', () => {
    const licences = readFileSync(new URL('LICENSES.txt', BUILT), 'utf8')
    for (const name of ['preact', '@preact/signals', '@preact/signals-core'])
      expect(licences).toContain(`${name}\n\nThe MIT License`)
  })
})
