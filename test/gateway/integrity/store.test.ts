import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { LegalHolds } from '../../../src/domain/legal-hold.ts'
import { INDEX } from '../../../src/gateway/core/indexes.ts'
import { GATEWAY_RULES } from '../../../src/gateway/integrity/part.ts'
import { type CheckReport, checkStore } from '../../../src/gateway/integrity/store.ts'
import type { DumpEntry, EventEntry, RecordEntry, StoreArchive } from '../../../src/store/archive.ts'
import { entryKey, eventKey, keep, memberKey, numberKey } from '../../../src/store/embedded/keys.ts'
import { openDatabase } from '../../../src/store/embedded/lmdb.ts'
import { approved, edited, held, HOUR, MINUTE, openWorld, type World } from '../../gateway-fixture.ts'
import { IS_LONG } from '../../runs.ts'
import { Places, type Place, type RedisPlace } from '../../store/places.ts'
import { playHistory } from '../random-history.ts'

const places = new Places()
afterAll(() => places.dispose())

async function played(place: Place, act: (world: World) => Promise<unknown>): Promise<number> {
  const world = await openWorld({ openStore: (clock) => place.open(clock) })
  await act(world)
  const { now } = world.clock
  await world.close()
  return now
}

const undisclosed = ({ kind, number, commitId, body }: EventEntry): EventEntry => ({
  kind,
  number,
  commitId,
  body,
})

const clockAt = (now: number) => ({ wall: () => now, monotonic: () => now })

async function checked(
  archive: StoreArchive,
  doctor: (entry: DumpEntry, partition: string) => readonly DumpEntry[] = (entry) => [entry],
): Promise<CheckReport> {
  const doctored: StoreArchive = {
    now: () => archive.now(),
    time: () => archive.time(),
    partitions: () => archive.partitions(),
    close: () => archive.close(),
    async *dump(partition) {
      for await (const entry of archive.dump(partition)) yield* doctor(entry, partition)
    },
  }
  try {
    return await checkStore(doctored)
  } finally {
    await archive.close()
  }
}

describe('a store that only a gateway has written', () => {
  it.each(IS_LONG ? [1, 2, 3, 4, 5, 6] : [1, 4])(
    'breaks no law and no rule after random history %i',
    async (seed) => {
      const place = places.embedded()
      const now = await played(place, (world) => playHistory(world, seed, 150))
      const report = await checked(await place.archive(clockAt(now)))
      expect(report.findings).toEqual([])
      expect(report.counts.partitions).toBe(2)
      expect(report.counts.events).toBeGreaterThan(40)
      expect(report.counts.records).toBeGreaterThan(20)
    },
  )

  it('breaks no rule after disclosures expired, and then finds those without a reason (G18)', async () => {
    const place = places.embedded()
    const now = await played(place, async (world) => {
      await playHistory(world, 3, 150)
      world.clock.advance(91 * 24 * HOUR)
      await world.due()
      await playHistory(world, 4, 50)
    })
    const doctored = async (change: (entry: EventEntry) => EventEntry): Promise<string[]> => {
      const report = await checked(await place.archive(clockAt(now)), (entry, partition) =>
        entry.kind === 'event' && partition === 'acme' ? [change(entry)] : [entry],
      )
      return report.findings.map(({ law, what }) => `${law} ${what}`)
    }
    expect(await doctored((entry) => entry)).toEqual([])
    expect(await doctored(undisclosed)).toEqual([
      expect.stringMatching(/^G18 no record says why record \d+ has no/),
    ])
    const altered = await doctored((entry) =>
      entry.disclosures === undefined
        ? entry
        : { ...entry, disclosures: entry.disclosures.replace('"members":{', '"members":{"more":1,') },
    )
    expect(altered[0]).toMatch(/^G18 evidence \d+ has disclosures that do not match its commitment$/)
  })

  it('breaks no rule after its threads were deleted, and then finds no lost thread that is older', async () => {
    const place = places.embedded()
    const now = await played(place, async (world) => {
      await playHistory(world, 3, 150)
      for (const days of [2, 31]) {
        world.clock.advance(days * 24 * HOUR)
        await world.due()
      }
      expect(await world.app.deps.store.count('acme', INDEX.threads)).toBe(0)
      await playHistory(world, 4, 50)
    })
    const report = await checked(await place.archive(clockAt(now)))
    expect(report.findings).toEqual([])
    const lost = await checked(await place.archive(clockAt(now)), (entry) =>
      entry.kind === 'record' && entry.type === 'forgotten' ? [] : [entry],
    )
    expect(lost.findings.map(({ law }) => law)).toContain('G15')
  })

  it('breaks no rule while a legal hold keeps threads, and misses one that is gone (G17)', async () => {
    const place = places.embedded()
    const now = await played(place, async (world) => {
      const bot = await world.agent()
      const [kept, gone] = [await held(bot), await held(bot)]
      const body = { tenant: 'acme', thread_id: kept.thread, reason: 'case' }
      await world.admin('POST', 'legal-holds', { body })
      for (const { thread } of [kept, gone]) await bot.withdraw(thread)
      for (const days of [2, 31]) {
        world.clock.advance(days * 24 * HOUR)
        await world.due()
      }
      expect(await world.app.deps.store.count('acme', INDEX.threads)).toBe(1)
    })
    expect((await checked(await place.archive(clockAt(now)))).findings).toEqual([])
    const lost = await checked(await place.archive(clockAt(now)), (entry) =>
      entry.kind === 'record' && entry.type === 'thread' ? [] : [entry],
    )
    expect(lost.findings.map(({ law }) => law)).toContain('G17')
  })

  it('breaks no law on Redis either, even while a gateway uses it', async () => {
    const place = await places.redis()
    await played(place, async (world) => {
      await playHistory(world, 7, 120)
      const report = await checked(await place.archive(world.clock))
      expect(report.findings).toEqual([])
      expect(report.counts.events).toBeGreaterThan(30)
    })
  })

  it('breaks no law when an approval with an issued token expires, or when tokens are purged', async () => {
    const place = places.embedded()
    const now = await played(place, async (world) => {
      const agent = await world.agent()
      const { thread } = await approved(agent, await world.reviewer('ann'))
      await approved(agent, await world.reviewer('ann'))
      await world.changePolicies(
        edited('rules/pay.yaml', 'review: More than pocket money.', 'reject: No more.'),
      )
      expect((await agent.poll({ thread_id: thread })).body.status).toBe('rejected')
      await world.stop()
      expect((await checked(await place.archive(world.clock))).findings).toEqual([])
      await world.start()
      world.clock.advance(100 * HOUR)
      await world.due()
    })
    expect((await checked(await place.archive(clockAt(now)))).findings).toEqual([])
  })

  it('breaks no law with an item that a timer has claimed', async () => {
    const place = places.embedded()
    const now = await played(place, async (world) => {
      const agent = await world.agent()
      const { thread } = await held(agent)
      const { store } = world.app.deps
      const [{ score } = { score: 0 }] = await store.range('acme', 'due', { limit: 1 })
      const [claimed] = await store.claimDue('acme', 'due', { now: score, lease: 30_000, limit: 1 })
      expect(claimed?.member).toBe(thread)
    })
    expect((await checked(await place.archive(clockAt(now)))).findings).toEqual([])
  })
})

/** Fills a store with one entry of every kind. */
async function furnish(place: Place): Promise<number> {
  return played(place, async (world) => {
    const agent = await world.agent()
    const ann = await world.reviewer('ann')
    await world.admin('POST', 'freeze', { body: { tenant: 'acme', agent: 'selfie', reason: 'odd' } })
    await world.admin('POST', 'legal-holds', { body: { tenant: 'acme', agent: 'selfie', reason: 'case' } })
    const { thread } = await held(agent)
    await ann.call('POST', `threads/${thread}/comments`, { body: { comment: 'hm' } })
    const { task, payload, token } = await approved(agent, ann)
    await agent.validate({ task_id: task, request_payload: payload, signature: token })
    await approved(agent, ann)
    await world.link('ben')
    const signedIn = await world.signIn('ann')
    world.clock.advance(MINUTE)
    await signedIn.call('GET', 'me')
    await agent.submit('idem', { tool_name: 't' }, { 'idempotency-key': 'k' })
    await world.app.deps.store.commit('acme', {
      commitId: 'charged',
      deadline: Infinity,
      guards: [],
      writes: [{ op: 'charge', limit: 'l', windowMs: 60_000, at: world.clock.now, amount: 3 }],
      events: [],
    })
  })
}

type Doctor = (entry: DumpEntry, partition: string) => readonly DumpEntry[]

/** Changes the first entry that fits. */
function first<K extends DumpEntry['kind']>(
  kind: K,
  fits: (entry: DumpEntry & { kind: K }) => boolean,
  change: (entry: DumpEntry & { kind: K }) => readonly DumpEntry[],
): Doctor {
  let done = false
  return (entry, partition) => {
    if (done || partition !== 'acme' || entry.kind !== kind || !fits(entry as DumpEntry & { kind: K }))
      return [entry]
    done = true
    return change(entry as DumpEntry & { kind: K })
  }
}

const isType = (type: string) => (entry: RecordEntry) => entry.type === type
/** The record with members of its JSON replaced. */
const withMembers = (entry: RecordEntry, members: object): RecordEntry => ({
  ...entry,
  body: JSON.stringify({ ...(JSON.parse(entry.body) as object), ...members }),
})
const isWaiting = (entry: RecordEntry): boolean =>
  entry.type === 'thread' && entry.body.includes('"status":"pending_review"')
const ofType = (type: string) => (entry: EventEntry) => entry.body.includes(`"type":"${type}"`)
const withText = (entry: EventEntry, from: string, to: string): EventEntry => ({
  ...entry,
  body: entry.body.replace(from, to),
})
const always = (): boolean => true

const DOCTORED: readonly [law: string, what: string, doctor: () => Doctor][] = [
  ['S05', 'an index entry out of order', () => first('index', always, (one) => [one, one])],
  [
    'S06',
    'an event left out',
    () =>
      first(
        'event',
        ({ number }) => number === 2,
        () => [],
      ),
  ],
  [
    'S06',
    'a head that gave out more',
    () => first('head', always, (one) => [{ ...one, last: one.last + 1 }]),
  ],
  [
    'G19',
    'an entry of a record file that is not there',
    () => first('index', always, (one) => [{ ...one, index: 'files', member: '1 aa', score: 256 }, one]),
  ],
  ['S10', 'revision 0', () => first('record', always, (one) => [{ ...one, revision: 0 }])],
  [
    'S12',
    'evidence of the future',
    () => first('event', always, (one) => [{ ...one, body: one.body.replace(/"at":"2026/, '"at":"2027') }]),
  ],
  [
    'S12',
    'a thread of the future',
    () => first('record', isType('thread'), (one) => [withMembers(one, { submitted_at: 9e12 })]),
  ],
  ['S14', 'an event without a commit id', () => first('event', always, (one) => [{ ...one, commitId: '' }])],
  ['S14', 'a record without a commit id', () => first('record', always, (one) => [{ ...one, commitId: '' }])],
  [
    'S17',
    'a mark that points elsewhere',
    () =>
      first(
        'index',
        ({ index }) => index.startsWith('evidence/'),
        (one) => [{ ...one, score: one.score + 1 }],
      ),
  ],
  ['S18', 'a bucket of nothing', () => first('limit', always, (one) => [{ ...one, buckets: [[1, 0]] }])],
  ['S18', 'half an amount', () => first('limit', always, (one) => [{ ...one, buckets: [[1, 0.5]] }])],
  [
    'S18',
    'too many buckets',
    () =>
      first('limit', always, (one) => [
        { ...one, buckets: Array.from({ length: 60 }, (_, i): [number, number] => [i, 1]) },
      ]),
  ],
  [
    'G01',
    'a thread out of its index',
    () =>
      first(
        'index',
        ({ index }) => index.startsWith('status/'),
        () => [],
      ),
  ],
  [
    'G01',
    'a thread at another score',
    () =>
      first(
        'index',
        ({ index }) => index === 'threads',
        (one) => [{ ...one, score: one.score - 1 }],
      ),
  ],
  [
    'G01',
    'a timer that was lost',
    () =>
      first(
        'index',
        ({ index }) => index === 'due',
        () => [],
      ),
  ],
  [
    'G01',
    'a thread of another status',
    () => first('record', isType('thread'), (one) => [withMembers(one, { status: 'changes_requested' })]),
  ],
  [
    'G02',
    'an index entry of no thread',
    () =>
      first(
        'index',
        ({ index }) => index === 'threads',
        (one) => [one, { ...one, member: `${one.member}x` }],
      ),
  ],
  ['G03', 'a revision that was lost', () => first('record', isType('revision'), () => [])],
  [
    'G03',
    'a revision of no thread',
    () =>
      first('record', isType('revision'), (one) => [
        one,
        { ...withMembers(one, { number: 7 }), id: `${one.id}x/7` },
      ]),
  ],
  [
    'G03',
    'a thread that shows another digest',
    () => first('record', isType('thread'), (one) => [withMembers(one, { digest: 'x' })]),
  ],
  [
    'G04',
    'a token of no thread',
    () => first('record', isType('token'), (one) => [withMembers(one, { thread_id: 'thr_x' })]),
  ],
  ['G04', 'a token that was lost', () => first('record', isType('token'), () => [])],
  [
    'G05',
    'a token that was used and is not redeemed',
    () =>
      first(
        'record',
        (one) => one.type === 'token' && !one.body.includes('used_at'),
        (one) => [withMembers(one, { used_at: 1 })],
      ),
  ],
  ['G06', 'a key without a holder', () => first('record', isType('holder'), () => [])],
  ['G06', 'a holder without a key', () => first('record', isType('key'), () => [])],
  [
    'G08',
    'evidence of another tenant',
    () =>
      first('event', always, (one) => [
        { ...one, body: one.body.replace('"tenant":"acme"', '"tenant":"globex"') },
      ]),
  ],
  [
    'G10',
    'comments without a thread',
    () => first('record', isType('comments'), (one) => [{ ...one, id: 'thr_00000000000000000000000000' }]),
  ],
  [
    'G18',
    'disclosures of another seed',
    () =>
      first(
        'event',
        ({ disclosures }) => disclosures !== undefined,
        (one) => [{ ...one, disclosures: one.disclosures?.replace(/"seed":"..../, '"seed":"AAAA') ?? '' }],
      ),
  ],
  [
    'G18',
    'disclosures that no erasure took',
    () =>
      first(
        'event',
        ({ disclosures }) => disclosures !== undefined,
        (one) => [undisclosed(one)],
      ),
  ],
  [
    'G16',
    'a held call that is not the first of its equals',
    () => first('record', isType('asked'), () => []),
  ],
  [
    'G16',
    'a first of equal calls that is gone',
    () =>
      first('record', isType('asked'), (one) => [
        withMembers(one, { thread_id: 'thr_00000000000000000000000000' }),
      ]),
  ],
  [
    'G16',
    'a first of other calls',
    () => first('record', isType('asked'), (one) => [one, { ...one, id: 'f'.repeat(64) }]),
  ],
  [
    'G11',
    'a session that nobody can end',
    () =>
      first(
        'index',
        ({ index }) => index.startsWith('sign-ins/'),
        () => [],
      ),
  ],
  [
    'G11',
    'a session that does not end by itself',
    () =>
      first(
        'index',
        ({ member }) => member.startsWith('session '),
        () => [],
      ),
  ],
  ['G11', 'a list that names a session that is gone', () => first('record', isType('session'), () => [])],
  [
    'G11',
    'a link of somebody else',
    () => first('record', isType('link'), (one) => [withMembers(one, { reviewer: 'ann' })]),
  ],
  [
    'G11',
    'a link that lasts longer',
    () => first('record', isType('link'), (one) => [withMembers(one, { expires_at: 9e12 })]),
  ],
  [
    'S12',
    'a session of the future',
    () => first('record', isType('session'), (one) => [withMembers(one, { opened_at: 9e12 })]),
  ],
  [
    'S12',
    'a use of the future',
    () => first('record', isType('seen'), (one) => [withMembers(one, { at: 9e12 })]),
  ],
  [
    'S12',
    'a link of the future',
    () => first('record', isType('link'), (one) => [withMembers(one, { issued_at: 9e12 })]),
  ],
  [
    'G12',
    'a thread that would survive the next freeze',
    () => first('record', isType('thread'), (one) => [withMembers(one, { freeze_epoch: 1e6 })]),
  ],
  [
    'G12',
    'a freeze ahead of its epoch',
    () => first('record', isType('freezes'), (one) => [withMembers(one, { epoch: 0 })]),
  ],
  [
    'S12',
    'a freeze of the future',
    () =>
      first('record', isType('freezes'), (one) => [withMembers(one, { freezes: [{ epoch: 1, at: 9e12 }] })]),
  ],
  [
    'G13',
    'a tree of other records',
    () => first('record', isType('tree'), (one) => [withMembers(one, { frontier: [] })]),
  ],
  [
    'G13',
    'a tree of more records than there are',
    () => first('record', isType('tree'), (one) => [withMembers(one, { size: 1e6 })]),
  ],
  ['G13', 'checkpoints without their tree', () => first('record', isType('tree'), () => [])],
  [
    'G13',
    'a checkpoint whose note says something else',
    () =>
      first('record', isType('checkpoint'), (one) => [
        { ...one, body: one.body.replace(/(\\n\d+\\n)./, (_, size: string) => `${size}!`) },
      ]),
  ],
  ['G13', 'a tree without its checkpoint', () => first('record', isType('checkpoint'), () => [])],
  [
    'S12',
    'a checkpoint of the future',
    () => first('record', isType('checkpoint'), (one) => [withMembers(one, { at: 9e12 })]),
  ],
  [
    'G14',
    'evidence of a redemption by somebody else',
    () => first('event', ofType('token.redeemed'), (one) => [withText(one, '"id":"bot"', '"id":"other"')]),
  ],
  [
    'G14',
    'evidence of an approval by nobody',
    () =>
      first('event', ofType('review.approved'), (one) => [withText(one, '"voters":["ann"]', '"voters":[]')]),
  ],
  [
    'G15',
    'a thread that was approved by nobody',
    () => first('record', isWaiting, (one) => [withMembers(one, { status: 'approved' })]),
  ],
  ['G17', 'a legal hold that is gone', () => first('record', isType('legal_holds'), () => [])],
  [
    'G17',
    'a legal hold that nobody added',
    () =>
      first('record', isType('legal_holds'), (one) => [
        withMembers(one, { holds: [...(JSON.parse(one.body) as LegalHolds).holds, { task_id: 'a' }] }),
      ]),
  ],
  ['G15', 'a thread that is gone', () => first('record', isType('thread'), () => [])],
  [
    'G15',
    'a thread that no evidence tells of',
    () =>
      first('record', isType('thread'), (one) => [
        one,
        { ...withMembers(one, { thread_id: 'thr_y' }), id: 'thr_y' },
      ]),
  ],
  ['G08', 'evidence that is no JSON', () => first('event', always, (one) => [{ ...one, body: 'x' }])],
  [
    'G09',
    'a record that is no JSON',
    () => first('record', isType('thread'), (one) => [{ ...one, body: 'x' }]),
  ],
  [
    'G09',
    'a thread under another id',
    () => first('record', isType('thread'), (one) => [withMembers(one, { thread_id: 'thr_x' })]),
  ],
]

describe('a broken store', () => {
  const place = places.embedded()
  let now: number
  beforeAll(async () => {
    now = await furnish(place)
  })

  it('a store has no finding before a fault is added', async () => {
    expect((await checked(await place.archive(clockAt(now)))).findings).toEqual([])
  })

  it.each(DOCTORED)('%s: %s', async (law, _, doctor) => {
    const { findings } = await checked(await place.archive(clockAt(now)), doctor())
    expect(findings.map((one) => one.law)).toContain(law)
    expect(findings.every(({ partition, what }) => partition === 'acme' && what.length > 10)).toBe(true)
  })

  it('G07: the index of tenants lacks a tenant', async () => {
    const doctor: Doctor = (entry) => (entry.kind === 'index' && entry.index === 'tenants' ? [] : [entry])
    const { findings } = await checked(await place.archive(clockAt(now)), doctor)
    expect(findings).toEqual([
      { law: 'G07', partition: '_system', what: 'tenant `acme` is not in the index of tenants' },
    ])
  })

  it('S12: the store is ahead of its clock', async () => {
    const archive = await place.archive(clockAt(now))
    const behind: StoreArchive = {
      now: () => now - 60_000,
      time: () => archive.time(),
      partitions: () => Promise.resolve([]),
      close: () => archive.close(),
      dump: (partition) => archive.dump(partition),
    }
    expect((await checkStore(behind)).findings.map((one) => one.law)).toEqual(['S12'])
    await archive.close()
  })

  it('has every rule listed in docs/store.md', () => {
    const page = readFileSync(new URL('../../../docs/store.md', import.meta.url), 'utf8')
    const rows = [...page.matchAll(/^\| (G\d\d) \| (.*) \|$/gm)].map(([, rule, text]) => [rule, text])
    expect(rows).toEqual(Object.entries(GATEWAY_RULES))
  })

  it('covers every rule of the gateway', () => {
    const covered = [...DOCTORED.map(([law]) => law), 'G07']
    expect(Object.keys(GATEWAY_RULES).filter((rule) => !covered.includes(rule))).toEqual([])
  })
})

describe('faults inside the embedded store', () => {
  const breaks: readonly [
    law: string,
    what: string,
    act: (db: ReturnType<typeof openDatabase>, thread: string, at: number) => Promise<unknown>,
  ][] = [
    ['S06', 'an event is gone', (db) => db.remove(keep(eventKey('acme', 2)))],
    ['S06', 'the last number is gone', (db) => db.remove(keep(numberKey('acme')))],
    [
      'S15',
      'the place of a member is gone',
      (db, thread) => db.remove(keep(memberKey('acme', 'threads', thread))),
    ],
    ['S15', 'an entry is gone', (db, thread, at) => db.remove(keep(entryKey('acme', 'threads', at, thread)))],
    [
      'S15',
      'an entry is there twice',
      (db, thread, at) =>
        db.put(keep(entryKey('acme', 'threads', at + 1, thread)), Buffer.from('0') as unknown as string, 0),
    ],
  ]
  it.each(breaks)('%s: %s', async (law, _, act) => {
    const place = places.embedded()
    const now = await furnish(place)
    const store = await place.open(clockAt(now))
    const [{ member, score } = { member: '', score: 0 }] = await store.range('acme', 'threads', { limit: 1 })
    await store.close()
    const db = openDatabase(`${place.path}/store.mdb`)
    await act(db, member, score)
    await db.close()
    const { findings } = await checked(await place.archive(clockAt(now)))
    expect(findings.map((one) => one.law)).toContain(law)
  })
})

describe('faults inside Redis', () => {
  const breaks: readonly [law: string, what: string, act: (ask: RedisPlace['ask']) => Promise<unknown>][] = [
    ['S06', 'an event is gone', (ask) => ask('XDEL', 'cs:{acme}:e', '2-0')],
    ['S06', 'an event has no number', (ask) => ask('XADD', 'cs:{acme}:e', '99-1', 'c', 'c', 'b', '{}')],
    ['S06', 'the head is gone', (ask) => ask('DEL', 'cs:{acme}:h')],
    [
      'S06',
      'the events are something else',
      async (ask) => [await ask('DEL', 'cs:{acme}:e'), await ask('SET', 'cs:{acme}:e', 'x')],
    ],
    ['S10', 'a record is something else', (ask) => ask('SET', 'cs:{acme}:r:thread:x', 'x')],
    ['S10', 'a record is a list', (ask) => ask('LPUSH', 'cs:{acme}:r:thread:x', 'x')],
    ['S14', 'a record without a commit id', (ask) => ask('SET', 'cs:{acme}:r:answer:x', '1 \n{}')],
    ['S15', 'a member in two spellings', (ask) => ask('ZADD', 'cs:{acme}:i:purge', '1', '\x7f0041')],
    ['S05', 'an index is something else', (ask) => ask('SET', 'cs:{acme}:i:x', 'x')],
    [
      'S05',
      'a record in two spellings',
      async (ask) => [
        await ask('SET', 'cs:{acme}:r:secret:A', '1 c\n{}'),
        await ask('SET', 'cs:{acme}:r:secret:\x7f0041', '1 c\n{}'),
      ],
    ],
    ['S12', 'the head is ahead of the clock', (ask) => ask('HSET', 'cs:{acme}:h', 't', '9000000000000')],
    ['S16', 'a key that is none', (ask) => ask('SET', 'cs:{acme}:x', 'x')],
    ['S18', 'a limit is something else', (ask) => ask('SET', 'cs:{acme}:l:l', '60 1')],
  ]
  it.each(breaks)('%s: %s', async (law, _, act) => {
    const place = await places.redis()
    const now = await furnish(place)
    expect((await checked(await place.archive(clockAt(now)))).findings).toEqual([])
    await act((...command) => place.ask(...command))
    const { findings } = await checked(await place.archive(clockAt(now)))
    expect(findings.map((one) => one.law)).toContain(law)
  })
})
