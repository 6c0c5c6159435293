import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { backtest as replay, type Backtest } from '../../policy/backtest/compare.ts'
import { printBacktest, printBacktestMarkdown } from '../../policy/backtest/print.ts'
import { ExportError, readExport } from '../../policy/backtest/records.ts'
import type { CompiledSnapshot } from '../../policy/evaluate/compile.ts'
import { LONGEST_LINE_BYTES } from '../../evidence/verify.ts'
import { linesOf, LongLine } from '../../system/lines.ts'
import { exported } from './evidence-files.ts'
import { command } from '../terminal/command.ts'
import { EXIT, usage } from '../terminal/failure.ts'
import { parse } from '../terminal/parse.ts'
import { loadTwo, sayBeside } from './compare-bundles.ts'
import { withProgress } from '../terminal/progress.ts'
import { jsonOf, onOneLine, visible } from '../terminal/visible-text.ts'

export const BACKTEST = command({
  name: 'backtest',
  operands: 'OLD NEW',
  says: `Replays recorded decisions on two policy bundles, with history and limits. OLD and NEW are directories or git
    revisions, as in \`countersign diff\`. It reports each call that NEW decides differently from OLD, loosened calls
    first. If evidence does not hold enough to replay a call, it reports "cannot tell".`,
  flags: {
    evidence: {
      takes: 'FILE',
      needed: true,
      says: 'the output of `countersign evidence export --tenant TENANT`; append several tenants to one file',
    },
    format: { values: ['text', 'json', 'markdown'], default: 'text' },
    'fail-on': {
      values: ['loosens', 'changes'],
      says: 'exits 5 if a call is loosened (loosens), or changed at all (changes)',
    },
  },
})

export async function backtest(args: readonly string[]): Promise<void> {
  const { values, operands } = parse(BACKTEST, args)
  const [before = '', after = ''] = operands
  const { format, 'fail-on': failOn } = values
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

const PRINT: Readonly<Record<(typeof BACKTEST.flags.format.values)[number], (report: Backtest) => string>> = {
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
