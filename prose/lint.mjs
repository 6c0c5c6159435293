/**
 * Lints prose.
 *
 * - `npm run prose` reads the rooms of prose/rooms.txt.
 * - `npm run prose -- PATH...` reads the paths that you name.
 * - `npm run prose -- --all` counts problems for each room.
 *
 * prose/sample.mjs draws sentences for a reader to judge.
 */
import { parseArgs } from 'node:util'
import { filesUnder, read } from './files.mjs'
import { MOST_COLUMNS, problemsIn } from './rules.mjs'
import { proseLines, textsOf } from './texts.mjs'

function lint(path) {
  const source = read(path)
  const texts = textsOf(path, source)
  const problems = texts.flatMap((one) =>
    problemsIn(one).map((problem) => ({
      ...problem,
      line: one.line + one.text.slice(0, problem.at).split('\n').length - 1,
    })),
  )
  const long = proseLines(path, source).filter(({ text }) => text.length > MOST_COLUMNS)
  const lines = new Map(
    long.map(({ line, text }) => [line, `${text.length} characters; write at most ${MOST_COLUMNS}`]),
  )
  return [...problems, ...[...lines].map(([line, say]) => ({ line, id: 'line-length', say, found: '' }))]
    .toSorted((a, b) => a.line - b.line)
    .map(({ line, id, say, found }) => `${path}:${line} ${id}: ${found === '' ? '' : `"${found}": `}${say}`)
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { all: { type: 'boolean' } },
})
const listed = read('prose/rooms.txt')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
const rooms = positionals.length > 0 ? positionals.map((path) => path.replace(/\/$/, '')) : listed

if (values.all === true) {
  const counts = new Map()
  for (const path of filesUnder(['.'])) {
    const room = path.split('/').slice(0, 2).join('/')
    counts.set(room, (counts.get(room) ?? 0) + lint(path).length)
  }
  for (const [room, count] of [...counts].toSorted((a, b) => b[1] - a[1]))
    console.log(`${String(count).padStart(5)} ${room}`)
} else {
  const files = filesUnder(rooms)
  const problems = files.flatMap(lint)
  for (const one of problems) console.log(one)
  console.log(
    problems.length === 0
      ? `prose: ${files.length} files, no problem`
      : `prose: ${problems.length} problems in ${files.length} files`,
  )
  process.exitCode = problems.length === 0 ? 0 : 1
}
