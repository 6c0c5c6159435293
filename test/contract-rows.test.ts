import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

type Row = readonly [where: string, said: string, ...titles: string[]]

/**
 * The promises of the agent API and of the planes beside it, row by row (docs/agent-api.md). Each row has the section,
 * a short summary, and the titles of the tests that prove it. This test fails when such a test is renamed or dropped.
 */
const root = fileURLToPath(new URL('.', import.meta.url))
const ROWS = readFileSync(join(root, 'data/contract-rows.ndjson'), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Row)

const texts = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.test.ts') && path !== 'contract-rows.test.ts')
  .map((path) => readFileSync(join(root, path), 'utf8'))

describe('the rows of the contract', () => {
  it.each(ROWS)('%s: %s', (_, __, ...titles) => {
    const missing = titles.filter((title) => !texts.some((text) => text.includes(title)))
    expect(missing).toEqual([])
    expect(titles.length).toBeGreaterThan(0)
  })

  it('no test of the contract is skipped or postponed', () => {
    const skipped = texts.filter((text) => /\b(it|describe|test)\.(skip|todo|only|fails)\b/.test(text))
    expect(skipped).toEqual([])
  })
})
