import type { BundleDiff } from './diff.ts'
import { rank } from '../check/change.ts'
import { exampleText, hiddenText, placesOf, shownChanges, summaryOf, unsureText } from './print.ts'

const TITLES = ['Loosened', 'Changed otherwise', 'Tightened']

/** Prints the difference as a pull request comment: one list for each direction, loosened first. */
export function printMarkdown(diff: BundleDiff): string {
  const entries = [
    ...diff.tools.flatMap((tool) =>
      shownChanges(tool).map((change) => ({
        order: rank(change),
        lines: [
          `- ${code(tool.tool)} **${change.before} → ${change.after}**`,
          ...placesOf(change).map((place) => `  - ${code(place)}`),
          `  - ${code(exampleText(change))}`,
        ],
      })),
    ),
    ...[...diff.routing, ...diff.limits, ...diff.history].map((change) => ({
      order: rank(change),
      lines: [`- ${code(change.text)}`],
    })),
    ...diff.directory.map((change) => ({
      order: rank(change),
      lines: [`- directory: ${code(change.text)}`],
    })),
  ]
  const sections = TITLES.flatMap((title, order) => {
    const own = entries.filter((entry) => entry.order === order)
    return own.length === 0 ? [] : ['', `### ${title}`, '', ...own.flatMap(({ lines }) => lines)]
  })
  const notes = diff.tools.flatMap(({ tool, notes: said, doubts, ...rest }) => [
    ...said.map((note) => `- ${code(tool)}: ${code(note)}`),
    ...hiddenText({ tool, doubts, ...rest }).map((text) => `- ${text}`),
    ...doubts.map((doubt) => `- ${code(tool)} is not complete: ${doubt}`),
  ])
  const unsure = diff.tools.flatMap(({ tool, unsure: parts }) =>
    parts.flatMap((one) => [
      `- ${code(unsureText(tool, one))}`,
      `  - before: ${code(one.before)}`,
      `  - after: ${code(one.after)}`,
    ]),
  )
  const unsureSection = unsure.length === 0 ? [] : ['', '### Not shown by any example', '', ...unsure]
  const noteSection = notes.length === 0 ? [] : ['', '### Notes', '', ...notes]
  return [
    '## Policy difference',
    '',
    `**${summaryOf(diff)}**`,
    ...sections,
    ...unsureSection,
    ...noteSection,
  ].join('\n')
}

/** Quotes text that the bundle's author chose. The fence is longer than any run of backticks in the text. */
function code(text: string): string {
  const longest = Math.max(0, ...[...text.matchAll(/`+/g)].map(([run]) => run.length))
  const fence = '`'.repeat(longest + 1)
  return longest === 0 ? `${fence}${text}${fence}` : `${fence} ${text} ${fence}`
}
