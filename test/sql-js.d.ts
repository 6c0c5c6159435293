/** The parts of sql.js that the tests use, because it has no types of its own. */
declare module 'sql.js' {
  interface Database {
    exec(sql: string): readonly { readonly values: readonly (readonly unknown[])[] }[]
    close(): void
  }
  const initSqlJs: () => Promise<{ readonly Database: new () => Database }>
  // eslint-disable-next-line import/no-default-export
  export default initSqlJs
}
