import type { ImportNote } from '../../policy/import/schema.ts'
import { onOneLine } from '../terminal/visible-text.ts'

/**
 * Reports on standard error: first the losses, counted by kind with the first place; then each tool without a contract.
 */
export function reportNotes(notes: readonly ImportNote[]): number {
  for (const { count, first } of kindsOf(notes.filter(({ leftOut }) => leftOut === undefined)))
    console.error(onOneLine(`${count} x ${first.pointer || '/'}: ${first.message}${more(count)}`))
  const leftOut = notes.filter((note) => note.leftOut !== undefined)
  for (const { leftOut: tool = '', pointer, message } of leftOut)
    console.error(onOneLine(`left out: ${tool} (${pointer || '/'}): ${message.replace(/^left out: /, '')}`))
  return leftOut.length
}

const more = (count: number): string => (count > 1 ? ' (the first of this kind)' : '')

interface Kind {
  readonly count: number
  readonly first: ImportNote
}

/** Notes that differ only in their quotations are of the same kind. */
function kindsOf(notes: readonly ImportNote[]): Kind[] {
  const kinds = new Map<string, Kind>()
  for (const note of notes) {
    const kind = note.message.replaceAll(/`[^`]*`/g, '`')
    const known = kinds.get(kind)
    kinds.set(kind, known ? { ...known, count: known.count + 1 } : { count: 1, first: note })
  }
  return [...kinds.values()].sort((a, b) => b.count - a.count)
}
