/**
 * The mark of a store and of a backup (docs/versions.md). Data without it is refused. A change of a key, a record or a
 * line of a backup changes the mark.
 */
export const FORMAT = 'countersign/5'

/** One sentence for data with another mark, or without one. */
export const otherFormat = (what: string, found: string | null): string =>
  `${what} ${found === null ? 'names no format' : `has the format \`${found}\``}, and this program reads \`${FORMAT}\` only: use the version that wrote it, or begin with an empty store`
