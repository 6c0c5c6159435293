import { FRAMEWORKS, type Row, ROWS } from '../sdk/adapters/rows.ts'

const [BEGIN, END] = ['<!-- the table -->\n', '<!-- the end of the table -->']

/** Returns docs/javascript/frameworks.md with a row for each law of the adapters, and a column for each framework. */
export function withFrameworksTable(page: string): string {
  const [head = '', rest = ''] = page.split(BEGIN)
  const row = (first: string, cells: readonly string[]): string => `| ${[first, ...cells].join(' | ')} |`
  const lines = [
    row(
      'a call',
      FRAMEWORKS.map(({ title, name }) => `[${title}](${name}.md)`),
    ),
    `|---|${FRAMEWORKS.map(() => '---|').join('')}`,
    ...Object.entries(ROWS).map(([id, words]) =>
      row(
        words,
        FRAMEWORKS.map(({ missing }) => (id in missing ? 'n/a' : 'yes')),
      ),
    ),
    row(
      'oldest version',
      FRAMEWORKS.map(({ versions }) => versions[0]),
    ),
    row(
      'newest version',
      FRAMEWORKS.map(({ versions }) => versions[1]),
    ),
  ]
  const notes = FRAMEWORKS.flatMap(({ title, missing }) =>
    Object.entries(missing).map(([id, why]) => `- ${title}, "${ROWS[id as Row]}":\n  ${why}.`),
  )
  return `${head}${BEGIN}${[...lines, '', ...notes, ''].join('\n')}${rest.slice(rest.indexOf(END))}`
}
