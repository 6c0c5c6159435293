/**
 * Lints prose.
 *
 * - `npm run prose` reads the rooms of prose/rooms.txt.
 * - `npm run prose -- PATH...` reads the paths that you name.
 * - `npm run prose -- --all` counts problems for each room.
 * - `npm run prose -- --sample N --seed S` draws N sentences for a reader to judge.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { MOST_COLUMNS, problemsIn, sentencesOf } from './rules.mjs'
import { proseLines, textsOf } from './texts.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
/** Files that hold prose of ours. Data, generated files and the examples of the rules are left out. */
const SCOPE = /\.(md|m?js|tsx?|py|ya?ml)$/
const OUTSIDE =
  /^(test\/data|test\/.*\/data|schemas|grafana\/dashboards|package-lock|\.ci|prose\/rules\.mjs|deploy\/.*\.json)/

function filesUnder(rooms) {
  const tracked = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  })
  const isIn = (path) => rooms.some((room) => room === '.' || path === room || path.startsWith(`${room}/`))
  return tracked.split('\n').filter((path) => SCOPE.test(path) && !OUTSIDE.test(path) && isIn(path))
}

function read(path) {
  try {
    return readFileSync(join(root, path), 'utf8')
  } catch {
    return '' // deleted in the work tree
  }
}

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

/** mulberry32: the same draws for the same seed. */
function draws(seed) {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), state | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}

function sample(files, count, seed) {
  const all = files.flatMap((path) => {
    const lines = read(path).split('\n')
    return textsOf(path, lines.join('\n'))
      .filter(({ kind }) => kind !== 'cell' && kind !== 'heading')
      .flatMap(({ line, text, kind }) =>
        sentencesOf(text)
          .filter(({ text: one }) => one.split(/\s+/).length >= 4)
          .map((one) => ({
            path,
            kind,
            line: line + text.slice(0, one.at).split('\n').length - 1,
            text: one.text,
          })),
      )
  })
  const draw = draws(seed)
  return Array.from(
    { length: Math.min(count, all.length) },
    () => all.splice(Math.floor(draw() * all.length), 1)[0],
  )
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { all: { type: 'boolean' }, sample: { type: 'string' }, seed: { type: 'string', default: '1' } },
})
const listed = read('prose/rooms.txt')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
const rooms = positionals.length > 0 ? positionals.map((path) => path.replace(/\/$/, '')) : listed

if (values.sample !== undefined) {
  const drawn = sample(
    filesUnder(positionals.length > 0 ? rooms : ['.']),
    Number(values.sample),
    Number(values.seed),
  )
  for (const { path, line, kind, text } of drawn)
    console.log(`${path}:${line} (${kind})\n    ${text.replaceAll(/\s+/g, ' ')}`)
} else if (values.all === true) {
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
