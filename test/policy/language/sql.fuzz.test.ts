import fc from 'fast-check'
import { parse } from 'libpg-query'
import initSqlJs from 'sql.js'
import { beforeAll, describe, expect, it } from 'vitest'
import { readSql } from '../../../src/policy/language/sql/read.ts'
import { rounds } from '../../runs.ts'
import { changeTexts, sqlTexts } from './sql-texts.ts'

/** The readers of SQLite and PostgreSQL themselves say what a string does. */

const RUNS = rounds({ check: 3_000, short: 3_000, long: 100_000 })
type Database = InstanceType<Awaited<ReturnType<typeof initSqlJs>>['Database']>

const read = (sql: string): readonly string[] | undefined => {
  const { verbs, functions, tables } = readSql(sql)
  expect(verbs?.join() === 'select').toBe(functions !== undefined)
  expect(tables === undefined).toBe(functions === undefined)
  return functions
}

describe('a text that reads as one query', () => {
  let sqlite: Database
  beforeAll(async () => {
    const { Database } = await initSqlJs()
    sqlite = new Database()
    sqlite.exec(
      'create table t(a, b); insert into t values (1, 2), (3, 4); create table u(a); insert into u values (1)',
    )
  })
  const state = (): string =>
    [
      'select total_changes()',
      'pragma schema_version',
      'pragma user_version',
      'pragma database_list',
      'pragma journal_mode',
      'pragma foreign_keys',
    ]
      .map((sql) => JSON.stringify(sqlite.exec(sql)))
      .join()

  it('changes nothing in SQLite', () => {
    const tally = { read: 0, ran: 0, written: 0 }
    const before = state()
    fc.assert(
      fc.property(sqlTexts, (sql) => {
        const functions = read(sql)
        if (functions === undefined) return
        tally.read++
        try {
          sqlite.exec(sql)
          tally.ran++
        } catch {
          // It is a query for another database.
        }
        expect(state(), sql).toBe(before)
      }),
      { numRuns: RUNS },
    )
    expect(tally.read).toBeGreaterThan(RUNS / 10)
    expect(tally.ran).toBeGreaterThan(RUNS / 50)
  })

  it('is one SELECT to PostgreSQL with no functions but the extracted ones, if it parses there', async () => {
    const tally = { read: 0, parsed: 0 }
    await fc.assert(
      fc.asyncProperty(sqlTexts, async (sql) => {
        const functions = read(sql)
        if (functions === undefined) return
        tally.read++
        // A backtick quotes names elsewhere; here it is an operator that does not exist, so nothing runs.
        const tree = sql.includes('`') ? undefined : await parse(sql).catch(() => undefined)
        if (tree === undefined) return
        tally.parsed++
        expect(
          tree.stmts?.map(({ stmt }) => Object.keys(stmt ?? {})),
          sql,
        ).toEqual([['SelectStmt']])
        const found = findings(tree)
        expect(found.forbidden, sql).toEqual([])
        for (const called of found.called) expect(functions, sql).toContain(called)
        const tables = readSql(sql).tables?.map((name) => name.toLowerCase())
        expect([...new Set(tables)].sort(), sql).toEqual(
          [...new Set(found.tables.map((name) => name.toLowerCase()))].sort(),
        )
      }),
      { numRuns: RUNS },
    )
    expect(tally.parsed).toBeGreaterThan(RUNS / 20)
  })

  it('changes no row outside its own WHERE, to PostgreSQL, when it has one', async () => {
    const tally = { has: 0, parsed: 0 }
    await fc.assert(
      fc.asyncProperty(changeTexts, async (sql) => {
        if (readSql(sql).clauses?.has('where') !== true) return
        tally.has++
        const tree = sql.includes('`') ? undefined : await parse(sql).catch(() => undefined)
        if (tree === undefined) return
        tally.parsed++
        const [only, ...others] = tree.stmts ?? []
        expect(others, sql).toEqual([])
        const [statement] = Object.values((only?.stmt ?? {}) as Record<string, object>)
        expect(statement, sql).toHaveProperty('whereClause')
      }),
      { numRuns: RUNS },
    )
    expect(tally.parsed).toBeGreaterThan(RUNS / 50)
  })
})

/**
 * Statements and clauses that are no query, and the names of called functions, anywhere in a tree of PostgreSQL's
 * parser.
 */
function findings(tree: unknown): {
  readonly forbidden: readonly string[]
  readonly called: readonly string[]
  readonly tables: readonly string[]
} {
  const forbidden: string[] = []
  const called: string[] = []
  const tables: string[] = []
  const visit = (node: unknown): void => {
    if (node === null || typeof node !== 'object') return
    for (const [key, value] of Object.entries(node as Record<string, unknown>)) {
      if (/^(?:intoClause|lockingClause)$|Stmt$/.test(key) && !/^(?:SelectStmt|stmt)$/.test(key))
        forbidden.push(key)
      if (key === 'RangeVar') tables.push(tableOf(value as Readonly<Record<string, string>>))
      if (key === 'FuncCall')
        called.push(
          nameOf(value as { readonly funcname: readonly { readonly String: { readonly sval: string } }[] }),
        )
      visit(value)
    }
  }
  visit(tree)
  return { forbidden, called, tables }
}

const tableOf = ({ catalogname, schemaname, relname }: Readonly<Record<string, string>>): string =>
  [catalogname, schemaname, relname].filter((part) => part !== undefined).join('.')

/** The grammar of PostgreSQL writes some of its own functions with their schema. */
function nameOf({
  funcname,
}: {
  readonly funcname: readonly { readonly String: { readonly sval: string } }[]
}): string {
  return funcname
    .map(({ String: { sval } }) => sval)
    .filter((part) => part !== 'pg_catalog')
    .join('.')
}
