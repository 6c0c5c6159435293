/**
 * Lints prose.
 *
 * - `npm run prose` reads the whole repository.
 * - `npm run prose -- PATH...` reads the paths that you name.
 *
 * prose/sample.mjs draws sentences for a reader to judge.
 */
import { parseArgs } from 'node:util'
import { filesUnder, read } from './files.mjs'
import { LINE_RULES, MOST_COLUMNS, MOST_WORDS, MOST_WORDS_EXPLAINING, problemsIn } from './rules.mjs'
import { proseLines, textsOf } from './texts.mjs'

function lint(path) {
  const source = read(path)
  const texts = textsOf(path, source)
  const mostWords = path.startsWith('docs/explanation/') ? MOST_WORDS_EXPLAINING : MOST_WORDS
  const problems = texts.flatMap((one) =>
    problemsIn(one, mostWords).map((problem) => ({
      ...problem,
      line: one.line + one.text.slice(0, problem.at).split('\n').length - 1,
    })),
  )
  const wrong = path.endsWith('.md') ? wrongLines(source) : []
  const long = proseLines(path, source).filter(({ text }) => text.length > MOST_COLUMNS)
  const lines = new Map(
    long.map(({ line, text }) => [line, `${text.length} characters; write at most ${MOST_COLUMNS}`]),
  )
  return [
    ...problems,
    ...wrong,
    ...[...lines].map(([line, say]) => ({ line, id: 'line-length', say, found: '' })),
  ]
    .toSorted((a, b) => a.line - b.line)
    .map(({ line, id, say, found }) => `${path}:${line} ${id}: ${found === '' ? '' : `"${found}": `}${say}`)
}

const wrongLines = (source) =>
  source.split('\n').flatMap((text, at) =>
    LINE_RULES.flatMap(({ id, say, find }) => {
      const found = find.exec(text)?.[0]
      return found === undefined ? [] : [{ line: at + 1, id, say, found }]
    }),
  )

const { positionals } = parseArgs({ allowPositionals: true })
const places = positionals.length > 0 ? positionals.map((path) => path.replace(/\/$/, '')) : ['.']
const files = filesUnder(places)
const problems = files.flatMap(lint)
for (const one of problems) console.log(one)
console.log(
  problems.length === 0
    ? `prose: ${files.length} files, no problem`
    : `prose: ${problems.length} problems in ${files.length} files`,
)
process.exitCode = problems.length === 0 ? 0 : 1
