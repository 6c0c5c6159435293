import {
  lstatSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { makeDirectory } from './make-directory.ts'

/**
 * Undecided calls, which are kept from one process to the next, so that a model that repeats its call does not ask
 * reviewers twice. Each call is one file that contains the id of its thread. The file is named `<key>.<id>` while no
 * process has the call, and `<key>.<id>.<pid>` while that process waits. Each step renames the file atomically, so that
 * only one process has a call.
 */
export interface Unfinished {
  /** Returns the oldest id that an unfinished call with this key left. No other process receives the same id. */
  take(key: string): string | undefined
  /** The thread of a call of this process; undefined when no thread was recorded. */
  threadOf(key: string, id: string): string | undefined
  /**
   * Records that the call waits for reviewers in `thread`. If this process dies, the next call with this key continues
   * the review.
   */
  hold(key: string, id: string, thread?: string): void
  /** Leaves the undecided call for the next call with this key. Returns true when the call is kept. */
  leave(key: string, id: string, thread?: string): boolean
  /** Removes a call that is decided or that its caller gave up. */
  end(key: string, id: string): void
}

export interface UnfinishedParts {
  /** Creates the directory when it is missing. Errors are reported like every other fault. */
  readonly directory: () => string
  /** Retention of a call, ms, which is at most the time that the gateway remembers its id. */
  readonly keptMs: number
  /** ms since 1970. */
  readonly now: () => number
  /** Receives each fault. A fault never stops a call, but reviewers are asked again. */
  readonly note: (text: string) => void
}

const NAME = /^([0-9a-f]{64})\.([0-9a-f-]{36})(?:\.([1-9][0-9]{0,9}))?$/
const THREAD = /^thr_[\w-]{1,100}$/
/**
 * Files that this process has claimed. A file with this process's number that is not in this set belongs to an earlier
 * process with the same number.
 */
const held = new Set<string>()

export function openUnfinished({ directory, keptMs, now, note }: UnfinishedParts): Unfinished {
  const inDirectory = <T>(work: (directory: string) => T): T | undefined => {
    try {
      return work(ownDirectory(directory()))
    } catch (error) {
      note(`unfinished calls cannot be kept, so reviewers are asked again: ${(error as Error).message}`)
      return undefined
    }
  }
  const hold = (place: string, key: string, id: string, thread = ''): void => {
    const path = heldPath(place, key, id)
    if (held.has(path)) {
      if (thread !== '' && readFileSync(path, 'utf8') === '') writeFileSync(path, thread)
      return
    }
    writeFileSync(path, thread, { flag: 'wx', mode: 0o600 })
    held.add(path)
  }
  return {
    take: (key) => inDirectory((place) => takeIn(place, key, (since) => Math.abs(now() - since) > keptMs)),
    threadOf: (key, id) => inDirectory((place) => threadIn(heldPath(place, key, id))),
    hold: (key, id, thread) => inDirectory((place) => hold(place, key, id, thread)),
    leave: (key, id, thread) =>
      inDirectory((place) => {
        hold(place, key, id, thread)
        renameSync(heldPath(place, key, id), join(place, `${key}.${id}`))
        return held.delete(heldPath(place, key, id))
      }) ?? false,
    end: (key, id) => {
      // most calls never wait, so they need no disk access
      if (held.size > 0) inDirectory((place) => endIn(heldPath(place, key, id)))
    },
  }
}

function heldPath(directory: string, key: string, id: string): string {
  return join(directory, `${key}.${id}.${process.pid}`)
}

/** The thread in a file; undefined for a call that the gateway never answered. */
function threadIn(path: string): string | undefined {
  if (!held.has(path)) return undefined
  return THREAD.exec(readFileSync(path, 'utf8'))?.[0]
}

function endIn(path: string): void {
  if (held.delete(path)) succeeds(() => unlinkSync(path))
}

/**
 * Checks that the directory belongs to this user, because another user who can write to it could decide which calls are
 * equal.
 * @throws Error
 */
function ownDirectory(directory: string): string {
  makeDirectory(directory, 0o700)
  const { mode, uid } = statSync(directory)
  const own = process.getuid === undefined || (uid === process.getuid() && (mode & 0o077) === 0)
  if (!own) throw new Error(`\`${directory}\` must belong to you alone (mode 0700)`)
  return directory
}

/**
 * Takes an id. A file with a time in the future (after the clock was set back) counts as old, because its age is
 * unknown.
 */
function takeIn(directory: string, key: string, isOld: (since: number) => boolean): string | undefined {
  const free = readdirSync(directory)
    .flatMap((file) => unfinishedIn(directory, file))
    .filter((one) => !isHeld(one))
    .sort((a, b) => a.since - b.since)
  for (const { path } of free.filter(({ since }) => isOld(since))) succeeds(() => unlinkSync(path))
  const known = free.filter((one) => one.key === key && !isOld(one.since))
  return known.find((one) => taken(directory, one))?.id
}

interface Left {
  readonly path: string
  readonly key: string
  readonly id: string
  readonly pid: number | undefined
  readonly since: number
}

/** The call in a file; empty for a foreign file, or for a file that has vanished. */
function unfinishedIn(directory: string, file: string): Left[] {
  const [, key, id, pid] = NAME.exec(file) ?? []
  const path = join(directory, file)
  const since = key === undefined ? undefined : lstatSync(path, { throwIfNoEntry: false })?.mtimeMs
  if (key === undefined || id === undefined || since === undefined) return []
  return [{ path, key, id, pid: pid === undefined ? undefined : Number(pid), since }]
}

/** True when a running process waits for the call. */
function isHeld({ path, pid }: Left): boolean {
  if (pid === undefined) return false
  return pid === process.pid ? held.has(path) : isRunning(pid)
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // EPERM also means that the process exists
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}

function taken(directory: string, { path, key, id }: Left): boolean {
  const own = heldPath(directory, key, id)
  // added before the rename, so that no other call of this process mistakes the file for that of a dead process
  held.add(own)
  if (path === own || succeeds(() => renameSync(path, own))) return true
  held.delete(own)
  return false
}

/** True when this process did the work, and no other process before it. */
function succeeds(work: () => void): boolean {
  try {
    work()
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
}
