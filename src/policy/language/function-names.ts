import { type Clause, CLAUSES } from './sql/clauses.ts'

/** Functions that turn one string into a list. */
export const LIST_FUNCTIONS = ['sql_verbs', 'sql_functions', 'sql_tables'] as const
export type ListFunction = (typeof LIST_FUNCTIONS)[number]

/** Functions that turn one string into a list of objects, whose members a match about entries reads. */
const ENTRY_FUNCTIONS = ['shell_commands'] as const
export type EntryFunction = (typeof ENTRY_FUNCTIONS)[number]

/** Functions that turn one string into true or false. `sql_has(FIELD, where)` is the function `sql_has_where`. */
export type ClauseFunction = `sql_has_${Clause}`
const CLAUSE_FUNCTIONS = CLAUSES.map((clause): ClauseFunction => `sql_has_${clause}`)

const TEXT_FUNCTIONS = ['domain', 'host', 'origin', 'path'] as const
export type FunctionName = (typeof TEXT_FUNCTIONS)[number] | ListFunction | EntryFunction | ClauseFunction
export const FUNCTION_NAMES: readonly FunctionName[] = [
  ...TEXT_FUNCTIONS,
  ...LIST_FUNCTIONS,
  ...ENTRY_FUNCTIONS,
  ...CLAUSE_FUNCTIONS,
]
/** The names as policies write them. */
export const WRITTEN_FUNCTIONS: readonly string[] = [
  ...TEXT_FUNCTIONS,
  ...LIST_FUNCTIONS,
  ...ENTRY_FUNCTIONS,
  'sql_has',
]

export function givesList(name: FunctionName | undefined): name is ListFunction | EntryFunction {
  return givesEntries(name) || LIST_FUNCTIONS.some((one) => one === name)
}

export function givesEntries(name: FunctionName | undefined): name is EntryFunction {
  return ENTRY_FUNCTIONS.some((one) => one === name)
}

/** Returns the clause that the function asks for; undefined for every other function. */
export function clauseOf(name: FunctionName): Clause | undefined {
  return CLAUSES.find((clause) => name === `sql_has_${clause}`)
}

export function isClauseFunction(name: FunctionName): name is ClauseFunction {
  return clauseOf(name) !== undefined
}

/** Returns a function with its argument, as policies write it. */
export function functionText(name: FunctionName, argument: string): string {
  const clause = clauseOf(name)
  return clause === undefined ? `${name}(${argument})` : `sql_has(${argument}, ${clause})`
}

/** Returns the name of a function as policies write it. */
export function writtenFunction(name: FunctionName): string {
  return isClauseFunction(name) ? 'sql_has' : name
}
