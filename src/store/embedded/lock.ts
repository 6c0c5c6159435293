import { randomUUID } from 'node:crypto'
import { closeSync, linkSync, openSync, readdirSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import type { Server } from 'node:net'
import { basename, join } from 'node:path'
import { handOver } from './files.ts'

/*
 * A lock that allows one process per data directory. The lock is a Unix socket in the directory on which its owner
 * listens. The kernel therefore releases the lock regardless of how its owner exits. The lock does not use process ids,
 * which are always 1 in a container.
 *
 * The socket of the n-th owner is called `lock.<n>.sock` and remains after the owner exits. A process that finds the
 * highest socket dead claims the next number with a hard link, which only one process can create. The process then
 * checks again, because other owners may have started and exited since, and removes the lower sockets. No process
 * therefore ever moves or removes the socket of a live owner.
 *
 * The lock provides a clear message at start. The stamp that every batch checks (lmdb.ts) protects the data.
 */

/** sockaddr_un has 108 bytes on Linux and 104 elsewhere, including a final 0. */
const LONGEST_SOCKET_PATH = process.platform === 'linux' ? 107 : 103
/** `lock.<uuid>.sock` */
const LONGEST_NAME = 46
const ATTEMPTS = 5

export interface DirectoryLock {
  release(): Promise<void>
}

/** Locks the directory. Rejects when a live process holds the lock. */
export async function lockDirectory(directory: string): Promise<DirectoryLock> {
  const place = openPlace(directory)
  const own = join(place.path, `lock.${randomUUID()}.sock`)
  const server = await listen(own).catch((cause: NodeJS.ErrnoException) => {
    place.close()
    // the system's error would name "listen", as for a port, because the first file is a socket
    throw new Error(`the data directory ${directory} cannot be written: ${cause.code ?? cause.message}`, {
      cause,
    })
  })
  const release = async (): Promise<void> => {
    await new Promise((resolve) => server.close(resolve))
    place.close()
  }
  try {
    handOver(place.path, basename(own))
    await takeNumber(place.path, own)
  } catch (error) {
    await release()
    throw error
  }
  rmSync(own, { force: true })
  return { release }
}

async function takeNumber(place: string, own: string): Promise<void> {
  const socket = (number: number): string => join(place, `lock.${number}.sock`)
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const before = numbersIn(place)
    const highest = Math.max(0, ...before)
    if (highest > 0 && (await isAlive(socket(highest)))) throw inUse()
    const number = highest + 1
    if (!link(own, socket(number))) continue
    if (Math.max(...numbersIn(place)) > number) {
      rmSync(socket(number), { force: true })
      throw inUse()
    }
    for (const lower of before) rmSync(socket(lower), { force: true })
    return
  }
  throw inUse()
}

function numbersIn(place: string): number[] {
  return readdirSync(place).flatMap((name) => {
    const number = /^lock\.([1-9]\d*)\.sock$/.exec(name)?.[1]
    return number === undefined ? [] : [Number(number)]
  })
}

/** The error when a live process holds the lock. */
export class DirectoryInUse extends Error {
  override readonly name = 'DirectoryInUse'
}

function inUse(): Error {
  return new DirectoryInUse('the data directory is in use by another process')
}

function ofAnotherUser(path: string): Error {
  return new Error(
    `the data directory has a lock of another user, \`${basename(path)}\`: remove it if that user runs no gateway here`,
  )
}

/** Links a file. Returns false when the name already exists. */
function link(from: string, to: string): boolean {
  try {
    linkSync(from, to)
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  }
}

/**
 * True unless the connection is clearly refused.
 *
 * @throws Error for a socket of another user, which only root may connect to
 */
function isAlive(path: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect(path)
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', (error) => {
      const code = codeOf(error) ?? ''
      if (code === 'EACCES' || code === 'EPERM') reject(ofAnotherUser(path))
      else resolve(!['ECONNREFUSED', 'ENOENT'].includes(code))
    })
  })
}

function listen(path: string): Promise<Server> {
  const server = createServer((socket) => socket.destroy())
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(path, () => {
      server.off('error', reject)
      server.on('error', () => {})
      server.unref()
      resolve(server)
    })
  })
}

/**
 * Opens the directory under a path that is short enough for a socket. On Linux, its descriptor provides such a path.
 */
function openPlace(directory: string): { path: string; close(): void } {
  if (Buffer.byteLength(directory) + 1 + LONGEST_NAME <= LONGEST_SOCKET_PATH)
    return { path: directory, close: () => {} }
  if (process.platform !== 'linux') throw new Error('the path of the data directory is too long for its lock')
  const descriptor = openSync(directory, 'r')
  return { path: `/proc/self/fd/${descriptor}`, close: () => closeSync(descriptor) }
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code
}
