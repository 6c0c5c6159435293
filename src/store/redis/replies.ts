import { type LimitWindow } from '../../domain/limit-window.ts'
import { decodeMember } from './keys.ts'
import type { IndexEntry, StoredDisclosures, StoredEvent, StoredRecord } from '../store.ts'

/** Converts answers of Redis to the types of the port. The formats are described in keys.ts. */

export function readRecord(reply: unknown): StoredRecord | undefined {
  if (typeof reply !== 'string') return undefined
  const blank = reply.indexOf(' ')
  const line = reply.indexOf('\n')
  return {
    body: reply.slice(line + 1),
    revision: Number(reply.slice(0, blank)),
    commitId: reply.slice(blank + 1, line),
  }
}

export function readEntries(reply: unknown): IndexEntry[] {
  const flat = reply as string[]
  const entries: IndexEntry[] = []
  for (let i = 0; i < flat.length; i += 2)
    entries.push({ score: Number(flat[i + 1]), member: decodeMember(flat[i] as string) })
  return entries
}

export function readWindow(reply: unknown): LimitWindow | undefined {
  if (typeof reply !== 'string') return undefined
  const [width = 0, ...numbers] = reply.split(' ').map(Number)
  const buckets = new Map<number, number>()
  for (let i = 0; i < numbers.length; i += 2) buckets.set(numbers[i] ?? 0, numbers[i + 1] ?? 0)
  return { width, buckets }
}

/** An entry of a stream. */
export type StreamEntry = readonly [id: string, fields: readonly string[]]

export function readEvents(reply: unknown): StoredEvent[] {
  return (reply as StreamEntry[]).map(([id, fields]) => ({
    number: numberIn(id),
    commitId: fields[1] as string,
    body: fields[3] as string,
  }))
}

/** Disclosures have the ids of their events (S21). */
export function readDisclosures(reply: unknown): StoredDisclosures[] {
  return (reply as StreamEntry[]).map(([id, fields]) => ({ number: numberIn(id), text: fields[1] as string }))
}

const numberIn = (id: string): number => Number(id.slice(0, id.indexOf('-')))
