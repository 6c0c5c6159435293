import { describe, expect, it } from 'vitest'
import { createCallIds } from '@countersign/sdk/runtime'

const CALL = { tool: 't', payload: { n: 1 } }

describe('ids of unfinished calls', () => {
  it("ids of unfinished calls are new, or the runtime's own, when no call was left unfinished", async () => {
    const ids = createCallIds()
    const [first, second, own] = [await ids.take(CALL), await ids.take(CALL), await ids.take(CALL, 'own')]
    expect(new Set([first.id, second.id]).size).toBe(2)
    expect(own.id).toBe('own')
  })

  it('ids of unfinished calls are reused by the next equal call, oldest first, each once', async () => {
    const ids = createCallIds()
    for (const own of ['a', 'b']) (await ids.take({ ...CALL, for: own }, own)).leave()
    const both = [await ids.take(CALL, 'a'), await ids.take(CALL, 'b')]
    for (const one of both) one.leave()
    const again: string[] = []
    for (const own of ['c', 'd', 'e']) again.push((await ids.take(CALL, own)).id)
    expect(again).toEqual(['a', 'b', 'e'])
  })

  it('ids of unfinished calls are each given to one of several concurrent calls', async () => {
    const ids = createCallIds()
    const left = await ids.take(CALL, 'left')
    left.leave()
    const taken = await Promise.all(['c', 'd', 'e'].map(async (own) => (await ids.take(CALL, own)).id))
    expect(new Set(taken).size).toBe(3)
    expect(taken).toContain('left')
  })

  it("ids of unfinished calls prefer the call's own id to those of others", async () => {
    const ids = createCallIds()
    const both = [await ids.take(CALL, 'a'), await ids.take(CALL, 'b')]
    for (const one of both) one.leave()
    expect((await ids.take(CALL, 'b')).id).toBe('b')
    expect((await ids.take(CALL, 'c')).id).toBe('a')
  })

  it('ids of unfinished calls are left once, even if the same call ran several times', async () => {
    const ids = createCallIds()
    const both = [await ids.take(CALL, 'a'), await ids.take(CALL, 'a')]
    for (const one of both) one.leave()
    expect((await ids.take(CALL, 'c')).id).toBe('a')
    expect((await ids.take(CALL, 'd')).id).toBe('d')
  })

  it('ids of unfinished calls come with the thread in which the earlier call waited', async () => {
    const ids = createCallIds()
    const first = await ids.take(CALL, 'a')
    expect(first.thread).toBeUndefined()
    first.hold('thr_1')
    first.leave()
    const second = await ids.take(CALL, 'b')
    expect([second.id, second.thread]).toEqual(['a', 'thr_1'])
    second.hold(undefined)
    second.leave()
    expect((await ids.take(CALL)).thread).toBe('thr_1')
  })

  it('ids of unfinished calls are forgotten, oldest first, beyond a thousand', async () => {
    const ids = createCallIds()
    for (let n = 0; n <= 1_000; n++) (await ids.take({ n }, `own-${n}`)).leave()
    expect((await ids.take({ n: 0 }, 'new')).id).toBe('new')
    expect((await ids.take({ n: 1 }, 'new')).id).toBe('own-1')
  })
})
