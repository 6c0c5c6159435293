import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { backtest as replay, type Backtest } from '../../policy/backtest/compare.ts'
import { printBacktest, printBacktestMarkdown } from '../../policy/backtest/print.ts'
import { ExportError, readExport } from '../../policy/backtest/records.ts'
import type { CompiledSnapshot } from '../../policy/evaluate/compile.ts'
import { LONGEST_LINE_BYTES } from '../../evidence/verify.ts'
import { linesOf, LongLine } from '../../system/lines.ts'
import { exported } from './evidence-files.ts'
import { EXIT, refuseMore, usage } from '../terminal/failure.ts'
import { loadTwo, sayBeside } from './compare-bundles.ts'
import { withProgress } from '../terminal/progress.ts'
import { jsonOf, onOneLine, visible } from '../terminal/visible-text.ts'

export const BACKTEST_USAGE = `countersign backtest --evidence FILE OLD NEW [--format text|json|markdown] [--fail-on loosens|changes]

  Replays recorded decisions on two policy bundles, with history and limits. It reports each call that NEW decides
  differently from OLD, loosened calls first. If evidence does not hold enough to replay a call, it reports
  "cannot tell".

  --evidence FILE  the output of \`countersign evidence export --tenant TENANT\`; append several tenants to one file
  OLD, NEW         directories or git revisions, as in \`countersign diff\`
  --fail-on        exits 5 if a call is loosened (loosens), or changed at all (changes)`

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
  await refuseUnreadable(values.evidence)
  const bundles = await loadTwo(before, after, sayBeside(format))
  if (bundles === undefined) return
  const report = await replayed(values.evidence, bundles[0].snapshot, bundles[1].snapshot)
  if (report.calls === 0)
    console.error(onOneLine(`\`${values.evidence}\` contains no policy decision: nothing was replayed`))
  process.stdout.write(PRINT[format](report))
  const failing = report.flips.some(({ direction }) => failOn === 'changes' || direction === failOn)
  if (failOn !== undefined && failing) process.exitCode = EXIT.changed
}

const PRINT: Readonly<Record<(typeof FORMATS)[number], (report: Backtest) => string>> = {
  text: (report) => visible(printBacktest(report)),
  markdown: (report) => visible(printBacktestMarkdown(report)),
  json: (report) => `${jsonOf(report)}\n`,
}

/** Refuses an unreadable file before loading bundles, which is slow. */
async function refuseUnreadable(file: string): Promise<void> {
  await access(file, constants.R_OK).catch((error: unknown) => {
    throw usage(`cannot read \`${file}\`: ${(error as Error).message}`)
  })
}

/** Replays line by line, because an export may be larger than memory. */
async function replayed(file: string, before: CompiledSnapshot, after: CompiledSnapshot): Promise<Backtest> {
  try {
    const records = readExport(linesOf(exported(file), LONGEST_LINE_BYTES))
    return await withProgress('Replaying the evidence', () => replay(records, before, after))
  } catch (error) {
    if (error instanceof ExportError || error instanceof LongLine)
      throw usage(`\`${file}\`: ${error.message}`)
    throw error
  }
}
