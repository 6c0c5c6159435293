import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { INDEX_LIFETIMES, type Lifetime, RECORD_LIFETIMES } from '../../src/gateway/core/lifetimes.ts'

const PAGE = fileURLToPath(new URL('../../docs/data.md', import.meta.url))
const HEAD = ['| kind | holds | deleted |', '|---|---|---|']

const rows = (kind: string, table: Readonly<Record<string, Lifetime>>): string[] =>
  Object.entries(table).map(([name, { holds, until }]) => `| ${kind} \`${name}\` | ${holds} | ${until} |`)

it('docs/data.md lists every kind of record and index, with its end of life', async () => {
  const lines = readFileSync(PAGE, 'utf8').split('\n')
  const start = lines.findIndex((line) => line.startsWith('| kind |'))
  const length = lines.slice(start).findIndex((line) => line === '')
  const table = [...HEAD, ...rows('record', RECORD_LIFETIMES), ...rows('index', INDEX_LIFETIMES)]
  await expect(lines.toSpliced(start, length, ...table).join('\n')).toMatchFileSnapshot(PAGE)
})
