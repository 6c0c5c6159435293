import type { Backtest, Example, Flip, Side } from './compare.ts'

/** The report as text for a terminal. Ends with a newline. */
export function printBacktest(report: Backtest): string {
  const lines = [summary(report), ...notes(report)]
  for (const flip of report.flips) {
    lines.push(
      `${flip.direction.toUpperCase().padEnd(8)} ${flip.tool}: ${sides(flip)}, ${calls(flip.calls)} (${examples(flip.examples)})`,
    )
  }
  for (const { tool, because, calls: count, examples: first } of report.untold) {
    lines.push(
      `CANNOT TELL ${tool}: ${calls(count)}, because not recorded or not certain: ${because.join(', ')} (${examples(first)})`,
    )
  }
  return `${lines.join('\n')}\n`
}

/** The report as Markdown for a pull request. Ends with a newline. */
export function printBacktestMarkdown(report: Backtest): string {
  const lines = ['### Backtest', '', summary(report), ...notes(report).flatMap((note) => ['', note])]
  if (report.flips.length > 0) {
    lines.push('', '| | tool | before | after | calls | records |', '|---|---|---|---|---|---|')
    for (const { direction, tool, before, after, calls: count, examples: first } of report.flips)
      lines.push(
        row([direction.toUpperCase(), tool, side(before), side(after), String(count), examples(first)]),
      )
  }
  if (report.untold.length > 0) {
    lines.push('', '| cannot tell | calls | not recorded or not certain | records |', '|---|---|---|---|')
    for (const { tool, because, calls: count, examples: first } of report.untold)
      lines.push(row([tool, String(count), because.join(', '), examples(first)]))
  }
  return `${lines.join('\n')}\n`
}

function summary({ before, after, calls: all, unchanged, flips, untold }: Backtest): string {
  const changed = flips.reduce((sum, flip) => sum + flip.calls, 0)
  const loosened = flips
    .filter((flip) => flip.direction === 'loosens')
    .reduce((sum, flip) => sum + flip.calls, 0)
  const unsure = untold.reduce((sum, one) => sum + one.calls, 0)
  const parts = [
    `${unchanged} unchanged`,
    `${changed} changed (${loosened} loosened)`,
    `${unsure} cannot tell`,
  ]
  return `${calls(all)} replayed on ${before.slice(0, 12)} and ${after.slice(0, 12)}: ${parts.join(', ')}`
}

function notes({ checked, incomplete }: Backtest): readonly string[] {
  const found: string[] = []
  if (checked.calls > 0) {
    const agree = checked.calls - checked.differing
    found.push(
      `check: the first bundle made ${checked.calls} of these decisions itself; the replay agrees with ${agree} of them`,
    )
  }
  if (incomplete.length > 0) {
    found.push(
      `the first records of ${incomplete.join(', ')} are not in the export: decisions that depend on history or limits are unknown there`,
    )
  }
  return found
}

function sides({ before, after }: Flip): string {
  return `${side(before)} -> ${side(after)}`
}

function side({ verdict, risk, by, reviewers }: Side): string {
  const who = reviewers === undefined ? '' : ` (${reviewers})`
  return `${verdict}/${risk}${who}${by.length === 0 ? '' : ` by ${by.join(', ')}`}`
}

function examples(list: readonly Example[]): string {
  return list.map(({ tenant, number }) => `${tenant}#${number}`).join(', ')
}

const calls = (count: number): string => `${count} call${count === 1 ? '' : 's'}`

function row(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
}
