import { diffBundles, type BundleDiff } from '../../policy/diff/diff.ts'
import { printMarkdown } from '../../policy/diff/markdown.ts'
import { printDiff } from '../../policy/diff/print.ts'
import { loosens, changes } from '../../policy/diff/gate.ts'
import { DEFAULT_POLICIES } from './default-policies.ts'
import { command } from '../terminal/command.ts'
import { EXIT } from '../terminal/failure.ts'
import { parse } from '../terminal/parse.ts'
import { loadTwo, sayBeside } from './compare-bundles.ts'
import { withProgress } from '../terminal/progress.ts'
import { jsonOf, visible } from '../terminal/visible-text.ts'

export const DIFF = command({
  name: 'diff',
  operands: 'OLD [NEW]',
  says: `Shows how the bundle NEW (default: ${DEFAULT_POLICIES}) decides differently from OLD. Each is a directory or a git
    revision. main~1 means the other argument's directory in that revision, or ${DEFAULT_POLICIES}; origin/main:policies names
    the directory. Exits 3 if a bundle would not load.`,
  flags: {
    'fail-on': {
      values: ['loosens', 'changes'],
      says: `loosens exits 5 if a decision is loosened, may be, or changed without being stricter or looser, and if
        diff cannot tell; changes exits 5 if anything differs or may`,
    },
    format: { values: ['text', 'json', 'markdown'], default: 'text' },
  },
})

const PRINTERS: Readonly<Record<(typeof DIFF.flags.format.values)[number], (diff: BundleDiff) => string>> = {
  text: (diff) => visible(printDiff(diff)),
  json: (diff) => jsonOf(diff),
  markdown: (diff) => visible(printMarkdown(diff)),
}
const GATES = { loosens, changes }

/** `countersign diff OLD NEW`: the semantic difference of two bundles. Exits with 5 when `--fail-on` requires it. */
export async function diff(args: readonly string[]): Promise<void> {
  const { values, operands } = parse(DIFF, args)
  const [before = '', after = DEFAULT_POLICIES] = operands
  const failOn = values['fail-on']
  const bundles = await loadTwo(before, after, sayBeside(values.format))
  if (bundles === undefined) return
  const found = await withProgress('Comparing the bundles', () => diffBundles(...bundles))
  console.log(PRINTERS[values.format](found))
  if (failOn !== undefined && GATES[failOn](found)) process.exitCode = EXIT.changed
}
