import { checkBundle, type BundleText, type CheckedBundle } from './check.ts'
import { compileBundle, type CompiledSnapshot } from '../evaluate/compile.ts'
import type { Diagnostic } from '../report/diagnostics.ts'
import type { BundleIr } from '../language/rule.ts'
import { createPayloadChecks, type PayloadChecks } from '../schema/payload.ts'
import type { NewerDirectory, RuleSummary } from '../language/snapshot.ts'
import { runSuite, untestedRules, type CaseResult } from '../tests/run.ts'

export type LoadResult =
  | { readonly ok: true; readonly snapshot: CompiledSnapshot }
  | {
      readonly ok: false
      readonly diagnostics: readonly Diagnostic[]
      readonly revision?: string
      /** The directory of the bundle, if it is sound by itself. */
      readonly newer?: NewerDirectory | undefined
    }

export type PreparedBundle =
  | {
      readonly ok: true
      readonly ir: BundleIr
      readonly snapshot: CompiledSnapshot
      readonly results: readonly CaseResult[]
    }
  | {
      readonly ok: false
      readonly diagnostics: readonly Diagnostic[]
      readonly revision: string
      /** Absent when the check of the files fails, because no test ran. */
      readonly results?: readonly CaseResult[]
      readonly rules?: readonly RuleSummary[]
    }

/** Parses, checks, compiles and tests a bundle. A failing inline test makes the bundle fail like any other error. */
export async function prepareBundle(
  texts: readonly BundleText[],
  {
    commit,
    now,
    checks = createPayloadChecks(),
  }: {
    readonly commit?: string | undefined
    /** The time of the load, in ms since 1970. Without a time, no rule counts as expired. */
    readonly now?: number
    readonly checks?: PayloadChecks
  } = {},
): Promise<PreparedBundle> {
  const checked = checkBundle(texts, { commit, now })
  if (!checked.ok) return checked
  const { ir, cases, findings } = checked.bundle
  const snapshot = compileBundle(ir, checks)
  const results = await runSuite(snapshot, ir, cases)
  for (const { case: one, problems } of results) {
    if (problems.length > 0)
      one.reader.report('test-failed', one.at, `test \`${one.name}\` failed: ${problems.join('; ')}`)
  }
  reportUntested(checked.bundle, results)
  const diagnostics = findings.sorted()
  if (findings.failed)
    return { ok: false, diagnostics, revision: ir.head.revision, results, rules: snapshot.rules }
  const tested = { ...ir, head: { ...ir.head, diagnostics } }
  return { ok: true, ir: tested, snapshot: compileBundle(tested, checks), results }
}

function reportUntested({ rules }: CheckedBundle, results: readonly CaseResult[]): void {
  const all = rules.flatMap(({ file, reader, places }) =>
    [...file.rules, ...file.limits].map(({ id }) => ({ id, reader, at: places.get(id) })),
  )
  for (const { id, reader, at } of untestedRules(results, all)) {
    if (at) reader.report('untested-rule', at, `no test fires rule \`${id}\``, 'add one under `tests:`')
  }
}
