import { execFile } from 'node:child_process'
import { rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ensureProgram, INSTALL_MS } from '../debian.ts'
import { makeAuthority } from '../webhooks/certificates.ts'

/**
 * Runs the outbound guard in a network namespace in which the hostile addresses really answer, and counts the
 * connections to them. Needs the right to make a namespace (root, as in CI).
 */
interface Report {
  readonly bound: readonly string[]
  readonly controls: readonly number[]
  readonly results: readonly {
    readonly id: string
    readonly category: string
    readonly stage: string
    readonly answers: readonly (string | number)[]
    readonly forbidden: readonly object[]
    readonly connections: number
    readonly requests: number
  }[]
}

let directory: string
let report: Report

beforeAll(async () => {
  ensureProgram('ip', 'iproute2')
  ensureProgram('unshare', 'util-linux')
  const authority = makeAuthority()
  directory = authority.directory
  const changing = [1, 2, 6, 12, 24, 'alt'].map((name) => `DNS:rebind${name}.test`)
  authority.issue('server', { names: ['DNS:pub.test', 'DNS:xn--bcher-kva.test', ...changing] })
  const script = fileURLToPath(new URL('namespace.mjs', import.meta.url))
  const guard = fileURLToPath(new URL('../../dist/outbound/outbound.js', import.meta.url))
  const args = ['--net', process.execPath, script, directory, guard]
  const { stdout } = await promisify(execFile)('unshare', args, { timeout: 120_000, maxBuffer: 1e8 })
  report = JSON.parse(stdout) as Report
}, INSTALL_MS)
afterAll(() => rmSync(directory, { recursive: true, force: true }))

describe('among hostile URLs, names and addresses', () => {
  it('reaches no forbidden address, though all of them are reachable', () => {
    expect(report.bound.length).toBeGreaterThan(35)
    expect(report.results.length).toBeGreaterThan(180)
    expect(report.results.filter(({ forbidden }) => forbidden.length > 0)).toEqual([])
  })

  it('opens no connection for a refused URL, or for a name with any forbidden address', () => {
    const early = report.results.filter(({ stage }) => stage !== 'redirect' && stage !== 'connect')
    expect(early.filter(({ connections }) => connections > 0)).toEqual([])
    expect(
      early
        .map(({ answers }) => answers)
        .flat()
        .filter((one) => one !== 'refused_url' && one !== 'refused_address'),
    ).toEqual([])
  })

  it('follows no redirect: one request, and its status', () => {
    const redirects = report.results.filter(({ stage }) => stage === 'redirect')
    expect(redirects.length).toBeGreaterThan(5)
    for (const { id, requests, answers } of redirects)
      expect([id, requests, answers]).toEqual([id, 1, [expect.any(Number)]])
    expect(redirects.every(({ answers }) => Number(answers[0]) >= 300 && Number(answers[0]) < 400)).toBe(true)
  })

  it('connects to a name with changing answers only while all of them are allowed', () => {
    const changing = report.results.filter(({ stage }) => stage === 'connect')
    expect(changing.length).toBeGreaterThan(2)
    for (const { answers } of changing) expect(new Set(answers)).toEqual(new Set([200, 'refused_address']))
  })

  it('reaches all four allowed receivers', () => {
    expect(report.controls).toEqual([200, 200, 200, 200])
  })
})
