import fc from 'fast-check'
import { textsOf } from '../../texts.ts'

/** Random queries of the subset, and what is made of them by putting something else into them. */

const column = fc.constantFrom('a', 'b', 't.a', '*', '"a"', '`b`', '[a]')
const literal = fc.constantFrom('1', '2.5', "'x'", "''", "'it''s'", 'null', 'true', "date '2027-01-01'")
const { expression } = fc.letrec<{ expression: string; query: string }>((tie) => ({
  expression: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    column.filter((one) => one !== '*'),
    literal,
    fc
      .tuple(
        tie('expression'),
        fc.constantFrom('+', '-', '*', '=', '<>', '<', 'and', 'or', '||', 'like'),
        tie('expression'),
      )
      .map((parts) => parts.join(' ')),
    fc
      .tuple(
        fc.constantFrom('count', 'lower', 'max', 'abs', 'coalesce', 'load_extension', 'randomblob'),
        tie('expression'),
      )
      .map(([name, of]) => `${name}(${of})`),
    tie('expression').map((one) => `(${one})`),
    tie('expression').map((one) => `case when ${one} then 1 else 2 end`),
    tie('expression').map((one) => `${one} in (1, 2)`),
    tie('expression').map((one) => `${one} is not null`),
    tie('expression').map((one) => `cast(${one} as integer)`),
    tie('query').map((one) => `exists (${one})`),
  ),
  query: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    tie('expression').map((one) => `select ${one}`),
    tie('expression').map((one) => `select a, b from t where ${one}`),
    tie('expression').map(
      (one) => `select count(*) n from t join u on ${one} group by t.a order by 1 desc limit 3`,
    ),
    fc.tuple(tie('query'), tie('query')).map((both) => both.join(' union ')),
    tie('query').map((one) => `with c1 as (${one}) select 1`),
    tie('query').map((one) => `select * from (${one}) s`),
  ),
}))
const query = expression.map((one) => `select ${one} from t`)

/** Parts that attackers put into queries, and parts at which a reader may lose its place. */
const FRAGMENTS = textsOf('fragments', 'of SQL')
const edit = fc.record({
  at: fc.nat(),
  cut: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.nat(6)),
  put: fc.constantFrom(...FRAGMENTS),
})

const edited = (texts: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.tuple(texts, fc.array(edit, { maxLength: 3 })).map(([text, edits]) =>
    edits.reduce((before, { at, cut, put }) => {
      const place = at % (before.length + 1)
      return before.slice(0, place) + put + before.slice(place + cut)
    }, text),
  )

export const sqlTexts: fc.Arbitrary<string> = edited(query)

/** Changes of data, with and without WHERE, and what is made of them in the same way. */
export const changeTexts: fc.Arbitrary<string> = edited(
  fc
    .tuple(
      fc.constantFrom(
        'delete from t',
        'update t set a = 1',
        'delete from t using u',
        'update t x set a = b from u',
      ),
      fc.oneof(
        fc.constantFrom('', ' -- where', ' /* where */', " returning 'where'"),
        expression.map((one) => ` where ${one}`),
      ),
    )
    .map(([head, tail]) => head + tail),
)
