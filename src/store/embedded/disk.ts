/*
 * The embedded store's requirements for its disk: it must be local, have free space, and still contain the open files.
 */

/** The fields of `fs.statfs` that the store uses. Sizes are in blocks of `bsize` bytes. */
export interface FileSystemFacts {
  readonly type: number
  readonly bsize: number
  readonly bavail: number
}
export type Statfs = (path: string) => FileSystemFacts

export const DEFAULT_MIN_FREE_BYTES = 64 * 1024 * 1024
const CHECK_EVERY_MS = 100
const FULL_BELOW_BYTES = 1024 * 1024

/**
 * File systems on which memory maps and locks are not coherent between hosts. Linux defines the numbers
 * (statfs(2)).
 */
const NETWORK_FILE_SYSTEMS = new Map([
  [0x6969, 'NFS'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB2'],
  [0x517b, 'SMB'],
  [0x01021997, '9p'],
  [0x5346414f, 'AFS'],
  [0x6b414653, 'AFS'],
  [0x73757245, 'Coda'],
  [0x564c, 'NCP'],
  [0x00c36400, 'Ceph'],
  [0x0bd00bd0, 'Lustre'],
  [0x19830326, 'BeeGFS'],
  [0x47504653, 'GPFS'],
  [0x7461636f, 'OCFS2'],
  [0x01161970, 'GFS2'],
  [0x786f4256, 'a VirtualBox shared folder'],
])

export function refuseNetworkFileSystem(path: string, statfs: Statfs): void {
  const name = NETWORK_FILE_SYSTEMS.get(statfs(path).type >>> 0)
  if (name !== undefined)
    throw new Error(`the data directory is on ${name}: the embedded store needs a local disk`)
}

/**
 * Refuses a disk without enough space for creating the files. LMDB maps the files into memory. Access to a mapping on a
 * full disk kills the process without a message.
 *
 * @throws Error of one sentence
 */
export function refuseFullDisk(path: string, statfs: Statfs): void {
  const reason = lowSpace(path, FULL_BELOW_BYTES, statfs)
  if (reason !== undefined) throw new Error(reason)
}

/** Free bytes below which the store refuses writes, and free bytes below which it refuses new work. */
export interface DiskFloors {
  readonly minFreeBytes: number
  readonly newWorkBytes?: number | undefined
}

export interface DiskFacts {
  readonly statfs: Statfs
  /** The reason that written data would be lost; undefined while the data is safe. */
  readonly displaced: () => string | undefined
}

export type DiskGuard = ReturnType<typeof createDiskGuard>

/**
 * Refuses writes when the disk is nearly full, and while written data would be lost. Allows writes again automatically
 * when the condition has ended.
 */
export function createDiskGuard(
  path: string,
  { minFreeBytes, newWorkBytes = minFreeBytes }: DiskFloors,
  { statfs, displaced }: DiskFacts,
) {
  let checkedAt = -Infinity
  let reason: string | undefined
  let short: string | undefined
  const look = (): void => {
    const now = performance.now()
    if (now - checkedAt < CHECK_EVERY_MS) return
    checkedAt = now
    reason = displaced() ?? lowSpace(path, minFreeBytes, statfs)
    short = reason ?? lowSpace(path, newWorkBytes, statfs)
  }
  return {
    /**
     * The reason, in one sentence, why writes are refused; undefined while they are accepted. Checks the disk at most
     * every 100 ms.
     */
    refusal(): string | undefined {
      look()
      return reason
    },
    /** The reason, in one sentence, why there is not enough free space for new work. */
    shortage(): string | undefined {
      look()
      return short
    },
    /** Bytes that can be written before the store refuses writes; undefined when the disk does not respond. */
    roomBytes(): number | undefined {
      try {
        return Math.max(0, freeBytes(path, statfs) - minFreeBytes)
      } catch {
        return undefined
      }
    },
    /** True when the disk is practically full, regardless of `minFreeBytes`. */
    isFull: () => lowSpace(path, FULL_BELOW_BYTES, statfs) !== undefined,
    /** Records that a write failed because the disk is full. */
    reportFull(): void {
      checkedAt = performance.now()
      reason = 'the disk is full'
      short = reason
    },
  }
}

/** Bytes of the disk that are free for this user. */
export function freeBytes(path: string, statfs: Statfs): number {
  const { bavail, bsize } = statfs(path)
  return bavail * bsize
}

function lowSpace(path: string, minFreeBytes: number, statfs: Statfs): string | undefined {
  try {
    const free = freeBytes(path, statfs)
    if (free >= minFreeBytes) return undefined
    return `the disk is nearly full: ${free} bytes are free, and ${minFreeBytes} are needed`
  } catch (error) {
    return `the disk does not respond: ${String(error)}`
  }
}
