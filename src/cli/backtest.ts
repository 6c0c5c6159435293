import { readFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { backtest as replay, type Backtest } from '../policy/backtest/compare.ts'
import { printBacktest, printBacktestMarkdown } from '../policy/backtest/print.ts'
import { ExportError, readExport, type Export } from '../policy/backtest/records.ts'
import { EXIT, refuseMore, usage } from './failure.ts'
import { loadTwo, sayBeside } from './two-bundles.ts'
import { jsonOf, visible } from './visible.ts'

export const BACKTEST_USAGE = `countersign backtest --evidence FILE OLD NEW [--format text|json|markdown] [--fail-on loosens|changes]

  Replays recorded decisions on two policy bundles, history and limits included, and reports what NEW decides otherwise than OLD, the loosened
  first. FILE is what \`countersign evidence export --tenant TENANT\` prints (of several tenants one after the other); OLD and NEW are directories or git
  revisions, as \`countersign diff\` takes them.
  What the evidence does not hold is reported as "cannot tell". Exits 5 with --fail-on when a call is loosened, or changed at all.`

const FORMATS = ['text', 'json', 'markdown'] as const
const FAILURES = ['loosens', 'changes'] as const

export async function backtest(args: readonly string[]): Promise<void> {
  const options = {
    evidence: { type: 'string' },
    format: { type: 'string', default: 'text' },
    'fail-on': { type: 'string' },
  } as const
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
  refuseMore(positionals, 2, BACKTEST_USAGE)
  const [before, after] = positionals
  const format = FORMATS.find((one) => one === values.format)
  const failOn = FAILURES.find((one) => one === values['fail-on'])
  if (values.evidence === undefined || before === undefined || after === undefined)
    throw usage('name the evidence and two bundles', BACKTEST_USAGE)
  if (!format) throw usage(`\`${values.format}\` is not a format`, BACKTEST_USAGE)
  if (values['fail-on'] !== undefined && !failOn)
    throw usage(`\`${values['fail-on']}\` is nothing to fail on`, BACKTEST_USAGE)
  const evidence = await readEvidence(values.evidence)
  const bundles = await loadTwo(before, after, sayBeside(format))
  if (bundles === undefined) return
  const report = await replay(evidence, bundles[0].snapshot, bundles[1].snapshot)
  process.stdout.write(PRINT[format](report))
  const failing = report.flips.some(({ direction }) => failOn === 'changes' || direction === failOn)
  if (failOn !== undefined && failing) process.exitCode = EXIT.changed
}

const PRINT: Readonly<Record<(typeof FORMATS)[number], (report: Backtest) => string>> = {
  text: (report) => visible(printBacktest(report)),
  markdown: (report) => visible(printBacktestMarkdown(report)),
  json: (report) => `${jsonOf(report)}\n`,
}

async function readEvidence(file: string): Promise<Export> {
  const text = await readFile(file, 'utf8').catch(() => undefined)
  if (text === undefined) throw usage(`cannot read \`${file}\``)
  try {
    return readExport(text)
  } catch (error) {
    if (error instanceof ExportError) throw usage(`\`${file}\`: ${error.message}`)
    throw error
  }
}
