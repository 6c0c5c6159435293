import type { ListFunction } from '../language/function-names.ts'
import { CHANGING, readSql } from '../language/sql/read.ts'
import { answersOf } from './lists.ts'
import type { Place } from './place.ts'

/** Returns the entries that the function can extract from a string. Verbs that make SQL readable are first. */
export function entriesFor(fn: ListFunction, found: readonly string[]): readonly string[] {
  if (fn === 'sql_functions')
    return found.flatMap((name) => [name, `${name}_`]).filter((name) => functionsOf(name) === name)
  if (fn === 'sql_tables') return found.filter((name) => tablesOf(name) === name)
  return [...CHANGING, ...found.filter((verb) => verbsOf(`${verb}; drop`) === `${verb},drop`)]
}

/** Returns SQL strings from which the function extracts these entries, and perhaps one more verb. */
export function statementsOf(fn: ListFunction, entries: readonly string[], items: Place): readonly string[] {
  if (fn === 'sql_functions') return [`select ${entries.map((name) => `${name}()`).join(', ') || '1'}`]
  if (fn === 'sql_tables') return [`select 1${entries.length === 0 ? '' : ` from ${entries.join(', ')}`}`]
  if (entries.length === 0) return []
  if (entries.join() === 'select') return ['select 1', ...withChange(entries, items)]
  return entries.some((verb) => CHANGING.has(verb)) ? [entries.join('; ')] : withChange(entries, items)
}

const CLAUSES = ['', ' where a = 1', ' limit 1', ' where a = 1 limit 1']
/** The maximum number of queries that combine functions and tables. */
const MAX_QUERIES = 2_000

/** Returns a query for each list of functions with each list of tables, with and without each clause. */
export function queriesOf(
  functions: readonly (readonly string[])[],
  tables: readonly (readonly string[])[],
): readonly string[] {
  const queries = functions.flatMap((names) =>
    tables.map((from) => [
      names.map((name) => `${name}()`).join(', ') || '1',
      from.length === 0 ? '' : ` from ${from.join(', ')}`,
    ]),
  )
  return queries.slice(0, MAX_QUERIES).flatMap(([columns, from]) => {
    const plain = CLAUSES.map((clause) => `select ${columns}${from}${clause}`)
    return [...plain, `with recursive r as (select 1) ${plain[0]}`]
  })
}

/**
 * Returns the verbs combined with a verb that changes data, for each kind of such verbs. Without such a verb, only a
 * query is readable.
 */
function withChange(entries: readonly string[], items: Place): readonly string[] {
  const answers = answersOf(items)
  const kinds = new Map([...CHANGING].map((verb) => [answers(verb).join(), verb]))
  return [...kinds.values()].map((verb) => [...entries, verb].join('; '))
}

function functionsOf(name: string): string | undefined {
  return readSql(`select ${name}()`).functions?.join()
}

function tablesOf(name: string): string | undefined {
  return readSql(`select 1 from ${name}`).tables?.join()
}

function verbsOf(sql: string): string | undefined {
  return readSql(sql).verbs?.join()
}
