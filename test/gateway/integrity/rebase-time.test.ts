import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { put, read, SYSTEM } from '../../../src/gateway/core/records.ts'
import { rebaseRecords } from '../../../src/gateway/integrity/rebase-time.ts'
import type { StoreArchive } from '../../../src/store/archive.ts'
import type { EmbeddedStore } from '../../../src/store/embedded/store.ts'
import { commitOf } from '../../store/commit-of.ts'
import { Lab, TENANT } from '../../tiles/lab.ts'

/** Records with times that the gateway compares with its clock, in a store whose clock was ahead. */
let lab: Lab
beforeEach(() => {
  lab = new Lab()
})
afterEach(() => lab.dispose())

describe('the times of a store that are brought back', () => {
  it('include the lease of tiles and the last measurement', async () => {
    const { store } = await lab.on()
    const [from, to] = [lab.now, lab.now - 1_000_000]
    const note = `log\n1\n${from}\n`
    const head = { place: 'tiles', size: 1, before: 0, note }
    // an archive names the partitions that have evidence
    const events = ['{}']
    const sizes = { claimed_until: 0, kinds: {} }
    const tiles = put('tiles', 'head', { ...head, lease: { by: 'one', until: from + 300_000 } })
    await store.commit(TENANT, commitOf(store, { commitId: 'tiles', writes: [tiles], events }))
    const measured = put('sizes', 'all', { ...sizes, at: from })
    await store.commit(SYSTEM, commitOf(store, { commitId: 'sizes', writes: [measured], events }))
    let commits = 0
    const archive = store as EmbeddedStore as unknown as StoreArchive
    await rebaseRecords(store, archive, { span: { from, to }, commitId: () => `back-${commits++}` })
    expect((await read(store, TENANT, 'tiles', 'head'))?.value).toEqual({
      ...head,
      lease: { by: 'one', until: to + 300_000 },
    })
    expect((await read(store, SYSTEM, 'sizes', 'all'))?.value).toEqual({ ...sizes, at: to })
  })
})
