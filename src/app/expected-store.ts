import { readFileSync } from 'node:fs'
import { leafHash } from '../domain/digest.ts'
import { EMPTY_TREE, grown, grownBySubtree, type MerkleTree, rootOf } from '../domain/merkle.ts'
import { filesAfter } from '../gateway/core/record-files.ts'
import { read, SYSTEM } from '../gateway/core/records.ts'
import type { Config } from '../settings/settings.ts'
import type { Store } from '../store/store.ts'
import { WIDTH } from '../tiles/layout.ts'

/**
 * Refuses a store that an operator does not expect: an empty one, or one without the records that a kept checkpoint
 * covers. Changes nothing.
 *
 * @throws Error of one sentence
 */
export async function requireExpected(
  store: Store,
  { storeExpect, storeCheckpoint }: Pick<Config, 'storeExpect' | 'storeCheckpoint'>,
): Promise<void> {
  if (storeExpect === undefined && storeCheckpoint === undefined) return
  const log = (await read(store, SYSTEM, 'secret', 'log'))?.value.value
  if (log === undefined) throw unexpected('it is empty')
  for (const one of storeCheckpoint === undefined ? [] : readNotes(storeCheckpoint)) {
    if (one.log !== log)
      throw unexpected(`it has the log \`${log}\`, and the checkpoint that of \`${one.log}\``)
    await requireCovered(store, one)
  }
}

const unexpected = (why: string): Error =>
  new Error(
    `the store is not the expected one: ${why}; find the right store, or restore a backup. To start with this store anyway, start without COUNTERSIGN_STORE_EXPECT and COUNTERSIGN_STORE_CHECKPOINT`,
  )

interface Kept {
  readonly log: string
  readonly tenant: string
  readonly size: number
  /** Lowercase hex. */
  readonly root: string
}

async function requireCovered(store: Store, { tenant, size, root }: Kept): Promise<void> {
  const tree = (await read(store, tenant, 'tree', 'head'))?.value
  if ((tree?.size ?? 0) < size)
    throw unexpected(`${size} records of \`${tenant}\` were signed, and it knows ${tree?.size ?? 0}`)
  const kept = (await read(store, tenant, 'checkpoint', String(size)))?.value.root
  if ((kept ?? (await rootAt(store, tenant, size))) !== root)
    throw unexpected(`its first ${size} records of \`${tenant}\` are not those that were signed`)
}

const PAGE = 500

/**
 * The root over the first records; undefined when some are missing. The store keeps one checkpoint an hour. It
 * reads the entries of whole record files that left the store.
 */
async function rootAt(store: Store, tenant: string, size: number): Promise<string | undefined> {
  let tree = await treeOfFiles(store, tenant, size)
  while (tree.size < size) {
    const events = await store.events(tenant, tree.size, Math.min(PAGE, size - tree.size))
    if (events.length === 0) return undefined
    const leaves = events.map(({ body }) => leafHash(body))
    tree = grown(tree, leaves)
  }
  return rootOf(tree)
}

/** The tree over the record files up to a size. */
async function treeOfFiles(store: Store, tenant: string, size: number): Promise<MerkleTree> {
  let tree = EMPTY_TREE
  for (;;) {
    const page = await filesAfter(store, tenant, tree.size)
    const whole = page.filter(({ last }) => last <= size)
    for (const { root } of whole) tree = grownBySubtree(tree, root, WIDTH)
    if (page.length === 0 || whole.length < page.length) return tree
  }
}

const NOTE = /^countersign\/([^/\n]+)\/([^/\n]+)(?:\/\d+)?\n(\d+)\n([A-Za-z0-9+/]{43}=)$/gm

/** The checkpoints in a file, as `countersign evidence checkpoint` prints them. */
function readNotes(path: string): Kept[] {
  const notes = [...readFileSync(path, 'utf8').matchAll(NOTE)].map(
    ([, log = '', tenant = '', size, root = '']) => ({
      log,
      tenant,
      size: Number(size),
      root: Buffer.from(root, 'base64').toString('hex'),
    }),
  )
  if (notes.length === 0) throw new Error(`there is no checkpoint in \`${path}\``)
  return notes
}

const DAY_MS = 24 * 3_600_000

/**
 * Refuses a clock that is more than a day ahead of the last commit, because recorded time never runs backwards again.
 *
 * @param writtenAt time of the last commit, ms since 1970; 0 in a new store
 * @param accepted the last day (UTC) that an operator has confirmed
 * @throws Error of one sentence
 */
export function requireSaneClock(writtenAt: number, now: number, accepted: string | undefined): void {
  if (writtenAt === 0 || now - writtenAt <= DAY_MS) return
  const [today, then] = [now, writtenAt].map((ms) => new Date(ms).toISOString())
  const day = today?.slice(0, 10) ?? ''
  if (accepted !== undefined && day <= accepted) return
  throw new Error(
    `the clock reads ${today}, more than a day after the last commit (${then}). If no gateway ran since, and the clock is right, start once with --accept-clock ${day}; otherwise set the clock right (NTP)`,
  )
}
