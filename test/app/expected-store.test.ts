import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { requireExpected } from '../../src/app/expected-store.ts'
import { leafHash } from '../../src/domain/digest.ts'
import { EMPTY_TREE, grown, rootOf } from '../../src/domain/merkle.ts'
import { fileEntry, rootOfRecords } from '../../src/gateway/core/record-files.ts'
import { put } from '../../src/gateway/core/records.ts'
import { openEmbeddedStore } from '../../src/store/embedded/store.ts'
import type { Store } from '../../src/store/store.ts'
import { WIDTH } from '../../src/tiles/layout.ts'

/** A kept checkpoint against a store that holds as many records, and perhaps others. */

const LEAVES = Array.from({ length: 1_203 }, (_, i) => `{"record":${i}}`)

let directory: string
let store: Store
let file: string

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'countersign-expected-'))
  file = join(directory, 'kept')
  store = await openEmbeddedStore({ path: join(directory, 'data'), minFreeBytes: 0 })
  const common = { commitId: 'c', deadline: Infinity, guards: [] }
  await store.commit('_system', { ...common, writes: [put('secret', 'log', { value: 'log1' })], events: [] })
  await store.commit('acme', { ...common, writes: [put('tree', 'head', treeOf(LEAVES))], events: LEAVES })
})
afterEach(async () => {
  await store.close()
  await rm(directory, { recursive: true, force: true })
})

const treeOf = (bodies: readonly string[]) => grown(EMPTY_TREE, bodies.map(leafHash))

async function startWith(bodies: readonly string[], log = 'log1'): Promise<void> {
  const root = Buffer.from(rootOf(treeOf(bodies)), 'hex').toString('base64')
  await writeFile(file, `countersign/${log}/acme\n${bodies.length}\n${root}\n\nsignature\n`)
  await requireExpected(store, { storeCheckpoint: file })
}

describe('requireExpected', () => {
  it('accepts the records under a checkpoint that the store no longer keeps', async () => {
    for (const size of [1, 500, 501, 1_203]) await startWith(LEAVES.slice(0, size))
  })

  it('reads the entries of record files that left the store, and a tile only inside of one', async () => {
    const files = [0, 1].map((i) =>
      fileEntry({
        last: (i + 1) * WIDTH,
        time: 1,
        root: rootOfRecords(LEAVES.slice(i * WIDTH, (i + 1) * WIDTH)),
      }),
    )
    const writes = [{ op: 'trim', before: 2 * WIDTH + 1 } as const, ...files]
    await store.commit('acme', { commitId: 'd', deadline: Infinity, guards: [], writes, events: [] })
    for (const size of [WIDTH, 2 * WIDTH, 700, 1_203]) await startWith(LEAVES.slice(0, size))
    const changed = LEAVES.slice(0, 700).with(3, '{"record":"another"}')
    await expect(startWith(changed)).rejects.toThrow('its first 700 records of `acme` are not those')
  })

  it('refuses other records of the same number, other logs, and fewer records', async () => {
    const changed = LEAVES.slice(0, 700).with(3, '{"record":"another"}')
    await expect(startWith(changed)).rejects.toThrow('its first 700 records of `acme` are not those')
    await expect(startWith(LEAVES.with(1_202, '{}'))).rejects.toThrow('its first 1203 records of `acme`')
    await expect(startWith(LEAVES, 'log2')).rejects.toThrow('and the checkpoint that of `log2`')
    await expect(startWith([...LEAVES, '{}'])).rejects.toThrow('and it knows 1203')
  })
})
