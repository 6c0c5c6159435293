import { lstatSync, readdirSync, statSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { LIMITS } from '../contract/limits.ts'
import { makeDirectory } from '../system/make-directory.ts'

/**
 * Calls that nobody has decided, from one run of the hook to the next: a model that calls again, as it is told to, must not ask people twice. A file for each, empty,
 * named `<key>.<id>`: it is made and taken as a whole, and whoever takes it away has it alone.
 */
export interface Unfinished {
  /** An id that an unfinished call with this key left, the oldest first; no other run gets the same. */
  take(key: string): string | undefined
  /** The call is not decided: the next one with this key goes on with it. */
  leave(key: string, id: string): void
}

export interface UnfinishedParts {
  /** Made when it is not there. What it throws is told like every other fault. */
  readonly directory: () => string
  /** ms since 1970. */
  readonly now: number
  /** Where faults are told. None stops a call: people are asked again. */
  readonly note: (text: string) => void
}

const NAME = /^([0-9a-f]{64})\.([0-9a-f-]{36})$/
/** No longer than the gateway knows what an id was for. */
const KEPT_MS = LIMITS.IDEMPOTENCY_MS

export function openUnfinished({ directory, now, note }: UnfinishedParts): Unfinished {
  const inDirectory = <T>(work: (directory: string) => T): T | undefined => {
    try {
      return work(ownDirectory(directory()))
    } catch (error) {
      note(`unfinished calls are not remembered, and people are asked again: ${(error as Error).message}`)
      return undefined
    }
  }
  return {
    take: (key) => inDirectory((place) => takeIn(place, key, now)),
    leave: (key, id) =>
      inDirectory((place) => writeFileSync(join(place, `${key}.${id}`), '', { flag: 'wx', mode: 0o600 })),
  }
}

/** Whoever else could write there would choose which calls are the same. @throws Error */
function ownDirectory(directory: string): string {
  makeDirectory(directory, 0o700)
  const { mode, uid } = statSync(directory)
  const own = process.getuid === undefined || (uid === process.getuid() && (mode & 0o077) === 0)
  if (!own) throw new Error(`\`${directory}\` must belong to you alone (mode 0700)`)
  return directory
}

function takeIn(directory: string, key: string, now: number): string | undefined {
  const left = readdirSync(directory)
    .flatMap((file) => unfinishedIn(directory, file))
    .sort((a, b) => a.since - b.since)
  const [old, known] = [
    left.filter(({ since }) => isOld(since, now)),
    left.filter(({ since }) => !isOld(since, now)),
  ]
  for (const { path } of old) removed(path)
  return known.find((one) => one.key === key && removed(one.path))?.id
}

/** One from the future is of a clock that was set back: nobody knows how old it is. */
function isOld(since: number, now: number): boolean {
  return Math.abs(now - since) > KEPT_MS
}

interface Left {
  readonly path: string
  readonly key: string
  readonly id: string
  readonly since: number
}

/** Nothing for what is not ours, or is gone by now. */
function unfinishedIn(directory: string, file: string): Left[] {
  const [, key, id] = NAME.exec(file) ?? []
  const path = join(directory, file)
  const since = key === undefined ? undefined : lstatSync(path, { throwIfNoEntry: false })?.mtimeMs
  return key === undefined || id === undefined || since === undefined ? [] : [{ path, key, id, since }]
}

/** Whether it was we who removed it. */
function removed(path: string): boolean {
  try {
    unlinkSync(path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
}
