import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runCli } from './run.ts'

const STARTER = fileURLToPath(new URL('../../policies', import.meta.url))
let directory: string

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'cs-author-'))
  await cp(STARTER, join(directory, 'policies'), { recursive: true })
})
afterAll(() => rm(directory, { recursive: true, force: true }))

const inDirectory = (...args: string[]) => runCli(args, { cwd: directory })

describe('countersign compile', () => {
  it('exits 0 and prints every rule of every tool', async () => {
    const { code, out } = await inDirectory('compile', '--json')
    const { format, tools } = JSON.parse(out) as {
      format: string
      tools: { tool: string; rules: object[] }[]
    }
    expect(code).toBe(0)
    expect(format).toBe('countersign-rules/1')
    expect(tools.map(({ tool }) => tool)).toContain('ledger.transfer')
    expect(tools.every(({ rules }) => rules.length > 0)).toBe(true)
  })

  it('exits 2 without --json, and 3 for a bundle that does not check', async () => {
    expect((await inDirectory('compile')).code).toBe(2)
    const { code, out, err } = await inDirectory('compile', '--json', 'nowhere')
    expect([code, out]).toEqual([3, ''])
    expect(err).toContain('bundle-unreadable')
  })
})
