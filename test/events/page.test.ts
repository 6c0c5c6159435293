import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import type { EventKind } from '../../src/events/kinds/event.ts'
import { EVENTS, sayingOf } from '../../src/events/events.ts'
import type { Field } from '../../src/events/record/field.ts'

const PAGE = fileURLToPath(new URL('../../docs/evidence.md', import.meta.url))
const ROWS = Object.entries<EventKind>(EVENTS)

const HEAD = ['| type | what happened | by | logged in `details` | disclosed |', '|---|---|---|---|---|']

function row([type, kind]: (typeof ROWS)[number]): string {
  const { by, of = 'call', says } = kind
  const what = typeof says === 'string' ? sayingOf({ type }) : 'got a vote'
  return `| \`${type}\` | The ${of} ${what}. | ${by.map((who) => `\`${who}\``).join(', ')} | ${textOf(type, 'logged')} | ${textOf(type, 'disclosed')} |`
}

/** The first kind with these members lists them. */
function textOf(type: string, part: 'logged' | 'disclosed'): string {
  const members = ROWS.find(([name]) => name === type)?.[1][part]
  if (members === undefined) return ''
  const [first = type] = ROWS.find(([, one]) => one[part] === members) ?? []
  if (first !== type) return `as \`${first}\``
  return Object.entries<Field>(members)
    .map(([name, { optional, doc }]) => `\`${name}\`${optional ? ' (optional)' : ''}: ${doc}`)
    .join('<br>')
}

describe('docs/evidence.md', () => {
  it('lists every record type of the table of events', async () => {
    const lines = readFileSync(PAGE, 'utf8').split('\n')
    const start = lines.findIndex((line) => line.startsWith('| type |'))
    const length = lines.slice(start).findIndex((line) => line === '')
    const page = lines.toSpliced(start, length, ...HEAD, ...ROWS.map(row)).join('\n')
    await expect(page).toMatchFileSnapshot(PAGE)
  })
})
