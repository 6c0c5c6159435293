import { parseArgs } from 'node:util'
import { diffBundles, type BundleDiff } from '../../policy/diff/diff.ts'
import { printMarkdown } from '../../policy/diff/markdown.ts'
import { printDiff } from '../../policy/diff/print.ts'
import { loosens, changes } from '../../policy/diff/gate.ts'
import { DEFAULT_POLICIES } from './default-policies.ts'
import { EXIT, refuseMore, usage } from '../terminal/failure.ts'
import { loadTwo, sayBeside } from './compare-bundles.ts'
import { withProgress } from '../terminal/progress.ts'
import { jsonOf, visible } from '../terminal/visible-text.ts'

export const DIFF_USAGE = `countersign diff OLD [NEW] [--fail-on loosens|changes] [--format text|json|markdown]

  Shows how the bundle NEW (default: ./policies) decides differently from OLD. Each is a directory or a git revision.
  main~1 means the other argument's directory in that revision, or ./policies; origin/main:policies names the directory.

  --fail-on loosens   exits 5 if a decision is loosened, or changed without being stricter or looser
  --fail-on changes   exits 5 if anything differs

  Exits 3 if a bundle would not load.`

const PRINTERS: Readonly<Record<string, (diff: BundleDiff) => string>> = {
  text: (diff) => visible(printDiff(diff)),
  json: (diff) => jsonOf(diff),
  markdown: (diff) => visible(printMarkdown(diff)),
}
const GATES: Readonly<Record<string, (diff: BundleDiff) => boolean>> = { loosens, changes }

/** `countersign diff OLD NEW`: the semantic difference of two bundles. Exits with 5 when `--fail-on` requires it. */
export async function diff(args: readonly string[]): Promise<void> {
  const options = { format: { type: 'string', default: 'text' }, 'fail-on': { type: 'string' } } as const
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
  refuseMore(positionals, 2, DIFF_USAGE)
  const [before, after = DEFAULT_POLICIES] = positionals
  if (before === undefined) throw usage('name two bundles', DIFF_USAGE)
  const print = choose(PRINTERS, values.format, '--format')
  const fails = values['fail-on'] === undefined ? undefined : choose(GATES, values['fail-on'], '--fail-on')
  const bundles = await loadTwo(before, after, sayBeside(values.format))
  if (bundles === undefined) return
  const found = await withProgress('Comparing the bundles', () => diffBundles(...bundles))
  console.log(print(found))
  if (fails?.(found) === true) process.exitCode = EXIT.changed
}

function choose<T>(known: Readonly<Record<string, T>>, name: string, flag: string): T {
  const found = Object.hasOwn(known, name) ? known[name] : undefined
  if (found === undefined)
    throw usage(`\`${name}\` is not a value of ${flag}`, `one of ${Object.keys(known).join(', ')}`)
  return found
}
