import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { JsonObject } from '../../src/contract/json.ts'
import type { CompiledSnapshot } from '../../src/policy/evaluate/compile.ts'
import { printDiagnostics, type Diagnostic } from '../../src/policy/report/diagnostics.ts'
import { prepareBundle } from '../../src/policy/bundle/load.ts'
import type { Call } from '../../src/policy/language/snapshot.ts'

/** Files of a bundle by path. */
export type Files = Readonly<Record<string, string>>

export const ROUTING = `unmatched: reject
allow_up_to: medium
timezone: Europe/Berlin
levels:
  low:      { group: on-call, approvals: 1, expires: 8h }
  medium:   { group: team-leads, approvals: 1, expires: 4h }
  high:     { group: security, approvals: 1, expires: 1h, remind_after: 15m, escalate: { after: 30m, group: security-leads } }
  critical: { group: security-leads, approvals: 2, expires: 30m }
lists:
  our_domains: [acme.com, acme.io]
`
export const DIRECTORY = `tenants:
  acme:
    agents:
      bot: { owners: [dana] }
      narrow: { owners: [dana], tools: [] }
    reviewers:
      alice: { groups: [on-call, team-leads, security, security-leads] }
      bob: { groups: [fraud-desk, security-leads] }
      carol: { groups: [on-call, team-leads, security] }
      dana: { groups: [team-leads] }
`
export const CONTRACT = `tool: pay
description: Pay somebody.
risk: low
reversibility: irreversible
labels: [money]
sensitive: [payload.email]
input_schema:
  type: object
  additionalProperties: false
  properties:
    amount: { type: [integer, "null"] }
    note: { type: string }
    email: { type: string }
    to: { type: array, items: { type: string } }
    flag: { type: boolean, default: false }
    meta: { type: object }
`
/** A rule file for the tool of CONTRACT. */
export function rules(text: string, head = 'tool: pay'): string {
  return `${head}\nrules:\n${text}`
}

/** A complete bundle with some files replaced or added; undefined takes one away. */
export function bundle(changes: Readonly<Record<string, string | undefined>> = {}): Files {
  const files = {
    'routing.yaml': ROUTING,
    'directory.yaml': DIRECTORY,
    'tools/pay.yaml': CONTRACT,
    'rules/pay.yaml': rules(
      '  - id: pay-small\n    allow: Small.\n    when:\n      payload.amount: { at_most: 10 }\n',
    ),
    ...changes,
  }
  return Object.fromEntries(
    Object.entries(files).filter((entry): entry is [string, string] => entry[1] !== undefined),
  )
}

/** Without what nearly every bundle of these tests would give. */
export async function diagnose(files: Files): Promise<readonly Diagnostic[]> {
  return (await diagnoseAll(files)).filter((one) => one.code !== 'untested-rule')
}

/** Without `unbounded-integer`, which the contract of these tests gives. */
export async function diagnoseAll(files: Files): Promise<readonly Diagnostic[]> {
  const prepared = await prepareBundle(Object.entries(files).map(([path, text]) => ({ path, text })))
  const found = prepared.ok ? prepared.ir.head.diagnostics : prepared.diagnostics
  return found.filter(({ code }) => code !== 'unbounded-integer')
}

export async function snapshotOf(files: Files): Promise<CompiledSnapshot> {
  const prepared = await prepareBundle(Object.entries(files).map(([path, text]) => ({ path, text })))
  if (!prepared.ok) throw new Error(printDiagnostics(prepared.diagnostics))
  return prepared.snapshot
}

/** A snapshot with these rules for the tool `pay`. */
export function withRules(text: string, head?: string): Promise<CompiledSnapshot> {
  return snapshotOf(bundle({ 'rules/pay.yaml': rules(text, head) }))
}

export const NOON = Date.UTC(2026, 10, 16, 11)

export function call(payload: JsonObject, changes: Partial<Call> = {}): Call {
  return { tool: 'pay', payload, tenant: 'acme', agent: 'bot', at: NOON, ...changes }
}

/** A directory of its own, gone when the test is over. */
export function tempDir(): string {
  const dir = mkdtempSync(join(tmpdir(), 'countersign-policy-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

export function writeFiles(dir: string, files: Files): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, path)), { recursive: true })
    writeFileSync(join(dir, path), text)
  }
}
