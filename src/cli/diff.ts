import { stat } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { printDiagnostics } from '../policy/diagnostics.ts'
import { diffBundles, type BundleDiff } from '../policy/diff/diff.ts'
import { printMarkdown } from '../policy/diff/markdown.ts'
import { printDiff } from '../policy/diff/print.ts'
import { loosens, changes } from '../policy/diff/gate.ts'
import type { Bundle } from '../policy/diff/side.ts'
import { prepareDirectory } from '../policy/directory.ts'
import { prepareRevision, type GitProblem } from '../policy/directory-git.ts'
import type { PreparedBundle } from '../policy/load.ts'
import { DEFAULT_POLICIES } from './check.ts'
import { CliFailure, EXIT, usage } from './failure.ts'

export const DIFF_USAGE = `countersign diff OLD [NEW] [--fail-on loosens|changes] [--format text|json|markdown]

  What the bundle NEW (./policies unless said) decides otherwise than OLD. Each is a directory or a git revision:
  main~1 (the other argument, or ./policies, is the directory in it) or origin/main:policies.
  Exits 5 with --fail-on loosens when anything is loosened, or changed in a way that has no order;
  with --fail-on changes when anything differs; 3 when a bundle would not be loaded.`

const PRINTERS: Readonly<Record<string, (diff: BundleDiff) => string>> = {
  text: printDiff,
  json: (diff) => JSON.stringify(diff, null, 2),
  markdown: printMarkdown,
}
const GATES: Readonly<Record<string, (diff: BundleDiff) => boolean>> = { loosens, changes }

/** `countersign diff OLD NEW`: the semantic difference of two bundles. Exit 5 when `--fail-on` says so. */
export async function diff(args: readonly string[]): Promise<void> {
  const options = { format: { type: 'string', default: 'text' }, 'fail-on': { type: 'string' } } as const
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
  const [before, after = DEFAULT_POLICIES, ...rest] = positionals
  if (before === undefined || rest.length > 0) throw usage('name two bundles', DIFF_USAGE)
  const print = choose(PRINTERS, values.format, '--format')
  const fails = values['fail-on'] === undefined ? undefined : choose(GATES, values['fail-on'], '--fail-on')
  const bundles: Bundle[] = []
  for (const [name, other] of [
    [before, after],
    [after, before],
  ] as const) {
    const bundle = await load(name, other)
    if (!bundle.ok) {
      console.log(`\`${name}\` would not be loaded:\n${printDiagnostics(bundle.diagnostics)}`)
      process.exitCode = EXIT.doesNotCheck
      return
    }
    bundles.push(bundle)
  }
  const found = await diffBundles(bundles[0] as Bundle, bundles[1] as Bundle)
  console.log(print(found))
  if (fails?.(found) === true) process.exitCode = EXIT.changed
}

function choose<T>(known: Readonly<Record<string, T>>, name: string, flag: string): T {
  const found = Object.hasOwn(known, name) ? known[name] : undefined
  if (found === undefined)
    throw usage(`\`${name}\` is not a value of ${flag}`, `one of ${Object.keys(known).join(', ')}`)
  return found
}

async function load(name: string, other: string): Promise<PreparedBundle> {
  if (await isDirectory(name)) return prepareDirectory(name)
  const { revision, dir } = await revisionOf(name, other)
  const read = await prepareRevision(revision, dir, process.cwd())
  if (!read.ok) throw describe(read.problem, { name, revision, dir })
  return read.bundle.ok ? withCommit(read.bundle, read.commit) : read.bundle
}

function withCommit(bundle: Extract<PreparedBundle, { ok: true }>, commit: string): PreparedBundle {
  const { ir } = bundle
  return { ...bundle, ir: { ...ir, head: { ...ir.head, commit } } }
}

async function isDirectory(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )
}

/** `REVISION:PATH` as git means it; of a bare revision the directory that the other argument names. */
async function revisionOf(
  name: string,
  other: string,
): Promise<{ readonly revision: string; readonly dir: string }> {
  const colon = name.indexOf(':')
  if (colon >= 0) return { revision: name.slice(0, colon), dir: name.slice(colon + 1) }
  const dir = (await isDirectory(other)) ? other : DEFAULT_POLICIES
  return { revision: name, dir: dir.startsWith('./') || dir.startsWith('../') ? dir : `./${dir}` }
}

function describe(
  problem: GitProblem,
  { name, revision, dir }: { readonly name: string; readonly revision: string; readonly dir: string },
): CliFailure {
  if (problem === 'no-git')
    return new CliFailure(
      `\`${name}\` is no directory, and git, which would know it as a revision, is not installed`,
    )
  if (problem === 'no-revision') return usage(`\`${name}\` is neither a directory nor a git revision`)
  if (problem === 'no-directory') return usage(`revision \`${revision}\` has no directory \`${dir}\``)
  if (problem === 'has-links')
    return new CliFailure(`\`${name}\` holds links, which are followed in a directory only`)
  return new CliFailure(`git could not read \`${name}\``)
}
