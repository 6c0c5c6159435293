/**
 * Draws 50 sentences at random from documents, strings and comments, for a reader to judge.
 *
 * `node prose/sample.mjs SEED [--count N] [PATH...]`: the same seed draws the same sentences of the same tree.
 */
import { parseArgs } from 'node:util'
import { filesUnder, read } from './files.mjs'
import { sentencesOf } from './rules.mjs'
import { textsOf } from './texts.mjs'

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

/** Sentences of four words or more in paragraphs, list items, comments, docstrings and strings. */
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
  options: { count: { type: 'string', default: '50' } },
})
const [seed = '', ...paths] = positionals
if (!/^\d+$/.test(seed)) {
  console.error('usage: node prose/sample.mjs SEED [--count N] [PATH...]; SEED is a whole number')
  process.exit(2)
}
const places = paths.length > 0 ? paths.map((path) => path.replace(/\/$/, '')) : ['.']
for (const { path, line, kind, text } of sample(filesUnder(places), Number(values.count), Number(seed)))
  console.log(`${path}:${line} (${kind})\n    ${text.replaceAll(/\s+/g, ' ')}`)
