// @store each
import { beforeEach, describe, expect, it } from 'vitest'
import { eachWorld, world } from '../agent-world.ts'
import { type Agent, elsewhere, held, HOUR, MINUTE, Overtaking, type SignedIn } from '../gateway-fixture.ts'
import type { ChatAnswer } from '../../src/domain/chat.ts'
import { Channel, CHAT_BUNDLE, linkAccount, textOf } from './fake-app.ts'

/** A click in a chat is a vote of one linked reviewer, and means what its message displayed (docs/chat.md). */

let bot: Agent
let ben: SignedIn
let channel: Channel

eachWorld({ files: CHAT_BUNDLE })
beforeEach(async () => {
  bot = await world.agent()
  ben = await world.signIn('ben')
  channel = await Channel.open(world)
  await linkAccount(world, ben, 'U1')
  channel.app.members.set('U1', {})
})

const PAYMENT = { amount: 5_000, to: 'acme-gmbh' }
const votes = async () =>
  (await world.evidence()).flatMap(({ record, disclosures }) =>
    record.type === 'vote.cast'
      ? [{ by: record.actor.id, ...record.details, members: disclosures?.members }]
      : [],
  )
/** A reviewer with a linked account of a full member. */
async function member(id: string, account: string): Promise<SignedIn> {
  const one = await world.signIn(id)
  await linkAccount(world, one, account)
  channel.app.members.set(account, {})
  return one
}
/** Clicks while the chat has the message, and the gateway does not know its place yet. */
const early = async (): Promise<ChatAnswer | undefined> => {
  let answer: ChatAnswer | undefined
  await held(bot, { payload: PAYMENT })
  channel.app.meanwhile = async () => void (answer = await channel.click(channel.clickOf('U1', 'approve')))
  await channel.deliver()
  return answer
}
const posted = async (payload: object = PAYMENT): Promise<string> => {
  const { thread } = await held(bot, { payload })
  await channel.deliver()
  return thread
}

describe('a click', () => {
  it('before the gateway knows the place of its message is asked for again', async () => {
    const again = 'This message was posted a moment ago. Click again.'
    expect(await early()).toEqual({ kind: 'refused', text: again })
    expect(await votes()).toEqual([])
    expect(await channel.click(channel.clickOf('U1', 'approve'))).toMatchObject({ kind: 'counted' })
  })

  it('is a vote of the linked reviewer, with the places of the message, and a repeat is the same vote', async () => {
    const thread = await posted()
    expect(channel.message()).toMatchObject({
      acts: ['approve', 'request_changes', 'reject'],
      fields: [
        { name: 'amount', value: [{ text: '5000', code: true, strong: true }] },
        { name: 'to', value: [{ text: 'acme-gmbh', code: true }] },
      ],
    })
    const approval = channel.clickOf('U1', 'approve')
    const answers = await Promise.all([channel.click(approval), channel.click(approval, elsewhere(world))])
    answers.push(await channel.click(approval))
    for (const answer of answers)
      expect(answer).toEqual({ kind: 'counted', text: 'Your vote counts: you approved revision 1.' })
    expect(await votes()).toMatchObject([
      {
        by: 'ben',
        via: 'slack',
        displayed: 'all',
        members: { display: { seen: ['payload.amount', 'payload.to'], unseen: [] } },
      },
    ])
    expect((await ben.show(thread)).body).toMatchObject({ status: 'approved', votes: [{ via: 'slack' }] })
    await channel.deliver()
    expect(channel.message()).toMatchObject({ acts: [], fields: [] })
    expect(textOf(channel.message())).toContain('Approved.')
  })

  it('asks for a comment, which a level may require, and counts the dialog', async () => {
    await posted()
    const asked = await channel.click(channel.clickOf('U1', 'reject'))
    expect(asked).toMatchObject({
      kind: 'ask',
      ask: { act: 'reject', offered: ['Ask first.'], required: false },
    })
    const { stamp: _, ...dialog } = channel.clickOf('U1', 'reject', { comment: 'Wrong account.' })
    expect(await channel.click(dialog)).toMatchObject({ kind: 'counted' })
    expect(await votes()).toMatchObject([{ decision: 'reject', members: { comment: 'Wrong account.' } }])
    const late = await channel.click(channel.clickOf('U1', 'approve'))
    expect(late).toMatchObject({
      kind: 'refused',
      text: 'Your vote was not counted: the thread is rejected.',
    })
  })

  it('of another message than the gateway posted there is refused: forged, foreign, moved', async () => {
    await posted()
    const good = channel.clickOf('U1', 'approve')
    const { message } = good
    const forged = { ...good, message: 'approve' }
    const others: Partial<typeof good>[] = [
      { workspace: 'T2' },
      { channel: 'C2' },
      { stamp: '2.0' },
      { message: message.replace('_acme_', '_globex_') },
      { message: message.replace(/.\.1$/, '0.1') },
      { message: `${message}1` },
      { message: message.replace(/\.1$/, '.0') },
    ]
    for (const other of [forged, ...others.map((one) => ({ ...good, ...one }))])
      expect(await channel.click(other), JSON.stringify(other)).toMatchObject({ kind: 'refused' })
    const { stamp: _, ...bare } = good
    expect(await channel.click(bare)).toMatchObject({ kind: 'refused' })
    channel.app.workspace = 'T9'
    expect(await channel.click(good)).toMatchObject({ kind: 'refused' })
    expect(await votes()).toEqual([])
  })

  it('on an older version counts for nothing, also while the revision arrives', async () => {
    const { thread, task } = await held(bot, { payload: PAYMENT })
    await channel.deliver()
    const old = channel.clickOf('U1', 'approve')
    const revised = await bot.revise(task, thread, { request_payload: { amount: 9_000, to: 'acme-gmbh' } })
    expect(revised.status).toBe(201)
    expect(await channel.click(old)).toMatchObject({ kind: 'refused' })
    await channel.deliver()
    expect(channel.message().id).not.toBe(old.message)
    expect(await channel.click(old)).toMatchObject({
      kind: 'refused',
      text: 'Your vote was not counted: the message has changed since: look at it again.',
    })
    expect(await channel.click(channel.clickOf('U1', 'approve'))).toMatchObject({ kind: 'counted' })
    expect(await votes()).toMatchObject([{ by: 'ben' }])
  })

  it('of another revision than the message displays is refused while the chat is away', async () => {
    const { thread, task } = await held(bot, { payload: PAYMENT })
    await channel.deliver()
    channel.app.refusal = { kind: 'failed', code: 'fatal_error' }
    await bot.revise(task, thread, { request_payload: { amount: 9_000 } })
    await channel.deliver()
    expect(await channel.click(channel.clickOf('U1', 'approve'))).toMatchObject({ kind: 'refused' })
    expect(await votes()).toEqual([])
  })

  it('by two reviewers at once, and one in the console, counts once for each', async () => {
    await member('ann', 'U2')
    const thread = await posted()
    const cat = await world.signIn('cat')
    const answers = await Promise.all([
      channel.click(channel.clickOf('U1', 'approve')),
      channel.click(channel.clickOf('U2', 'approve'), elsewhere(world)),
      cat.approve(thread),
    ])
    const counted = [answers[0].kind === 'counted', answers[1].kind === 'counted', answers[2].status === 200]
    expect(counted.filter(Boolean)).toHaveLength(1)
    expect(await votes()).toHaveLength(1)
  })
})

it('a click that something overtakes before its commit counts for nothing, except when only policy changes', async () => {
  const overtaking = new Overtaking()
  const { deps } = world.app
  const slower = { ...deps, store: overtaking.wrapStore(deps.store) }
  const cat = await world.reviewer('cat')
  const silent = CHAT_BUNDLE['routing.yaml'].replace('chat: true, ', '')
  type Call = Awaited<ReturnType<typeof held>>
  const events: Readonly<Record<string, (call: Call) => Promise<unknown>>> = {
    'a revision arrives': ({ task, thread }) =>
      bot.revise(task, thread, { request_payload: { amount: 9_000, to: 'acme-gmbh' } }),
    'the agent withdraws the call': ({ thread }) => bot.withdraw(thread),
    'another reviewer decides in the console': ({ thread }) => cat.approve(thread),
    'a freeze of the agent begins': () => freeze('freeze', { agent: 'bot' }),
    'the call expires': () => Promise.resolve(world.clock.advance(9 * HOUR)),
    'a bundle without `chat` loads': () => world.changePolicies({ 'routing.yaml': silent }),
    'a freeze of the reviewer begins': () => freeze('freeze', { reviewer: 'ben' }),
  }
  const freeze = (what: 'freeze' | 'unfreeze', whom: object) =>
    world.admin('POST', what, { body: { tenant: 'acme', reason: 'test', ...whom } })
  let number = 0
  for (const [what, event] of Object.entries(events)) {
    const call = await held(bot, { payload: PAYMENT })
    await channel.deliver()
    const stamp = `${(number += 1)}.0`
    const click = channel.clickOf('U1', 'approve', { stamp, message: channel.message(stamp).id })
    const before = (await votes()).length
    let isOver = false
    overtaking.before = async () => {
      await event(call)
      isOver = true
    }
    const { kind } = await channel.click(click, slower)
    const expected = what.includes('bundle')
      ? 'counted'
      : what.includes('reviewer begins')
        ? 'unknown'
        : 'refused'
    expect([kind, isOver], what).toEqual([expected, true])
    expect((await votes()).length - before, what).toBe(/console|bundle/.test(what) ? 1 : 0)
    if (what.includes('agent begins')) await freeze('unfreeze', { agent: 'bot' })
    if (what.includes('bundle')) await world.changePolicies(CHAT_BUNDLE)
  }
})

describe('the wrong person, as in four advisories of 2026', () => {
  it.each([
    ['CVE-2026-32906: a member who is linked to nobody', 'U9', 'unknown'],
    ['CVE-2026-35630: a member who is a guest', 'U3', 'refused'],
    ['CVE-2026-56835: a member of a shared channel', 'U4', 'refused'],
    ['CVE-2026-100575: a member whom the chat does not know', 'U5', 'refused'],
  ])('%s', async (_, account, kind) => {
    if (account !== 'U9') await linkAccount(world, await world.signIn('cat'), account)
    channel.app.members.set('U9', {})
    channel.app.members.set('U3', { refused: 'a guest' })
    channel.app.members.set('U4', { refused: 'a member of another workspace' })
    await posted()
    expect(await channel.click(channel.clickOf(account, 'approve'))).toMatchObject({ kind })
    expect(await votes()).toEqual([])
  })

  it('a chat that does not say who clicked', async () => {
    await posted()
    channel.app.member = () => Promise.reject(new Error('away'))
    expect(await channel.click(channel.clickOf('U1', 'approve'))).toMatchObject({ kind: 'refused' })
    expect(await votes()).toEqual([])
  })

  it('an owner of the agent, a reviewer of another group, and one who voted', async () => {
    await member('olga', 'U2')
    await member('dan', 'U3')
    await posted()
    const said = async (account: string) => (await channel.click(channel.clickOf(account, 'approve'))).text
    expect(await said('U2')).toContain('you are an owner of `bot`')
    expect(await said('U3')).toContain('this thread needs desk')
    expect(await channel.click(channel.clickOf('U2', 'reject'))).toMatchObject({ kind: 'refused' })
    expect(await votes()).toEqual([])
  })

  it('a reviewer who was unlinked, frozen, removed or changed meanwhile', async () => {
    await posted()
    const approve = async () => (await channel.click(channel.clickOf('U1', 'approve'))).kind
    await ben.call('DELETE', 'chats/T1/U1')
    expect(await approve()).toBe('unknown')
    await linkAccount(world, ben, 'U1')
    await world.changePolicies({
      'directory.yaml': await import('../bundle.ts').then(({ BUNDLE }) =>
        (BUNDLE['directory.yaml'] ?? '').replace('groups: [desk, board] }', 'groups: [desk] }'),
      ),
    })
    expect(await approve()).toBe('unknown')
    ben = await world.signIn('ben')
    await linkAccount(world, ben, 'U1')
    await world.admin('POST', 'freeze', { body: { tenant: 'acme', reviewer: 'ben', reason: 'lost' } })
    expect(await approve()).toBe('unknown')
    expect(await votes()).toEqual([])
  })
})

describe('the level', () => {
  it('without `chat` has no button and no value, and refuses a click', async () => {
    await world.changePolicies({ 'routing.yaml': CHAT_BUNDLE['routing.yaml'].replace('chat: true, ', '') })
    await posted()
    expect(channel.message()).toMatchObject({ acts: [], fields: [] })
    expect(textOf(channel.message())).not.toContain('5000')
    const answer = await channel.click(channel.clickOf('U1', 'approve'))
    expect(answer).toMatchObject({ kind: 'refused' })
  })

  it('with `signed_in_within` counts a click only soon after the console was used', async () => {
    const ann = await member('ann', 'U2')
    await posted({ amount: 20_000, to: 'acme-gmbh' })
    world.clock.advance(16 * MINUTE)
    const late = await channel.click(channel.clickOf('U2', 'approve'))
    expect(late.text).toContain('use the console first')
    await ann.list()
    expect(await channel.click(channel.clickOf('U2', 'approve'))).toMatchObject({ kind: 'counted' })
    world.clock.advance(HOUR)
  })

  it('shows no more than the values that decided where the message cannot hold the call', async () => {
    await posted({ amount: 5_000, to: 'acme-gmbh', secret: 'hunter2' })
    const { acts, fields, why } = channel.message()
    expect({ acts, fields, why }).toEqual({
      acts: ['request_changes', 'reject'],
      fields: [{ name: 'amount', value: [{ text: '5000', code: true, strong: true }] }],
      why: 'Not to approve here: 1 hidden value.',
    })
    expect(textOf(channel.message())).not.toContain('hunter2')
    expect(await channel.click(channel.clickOf('U1', 'approve'))).toMatchObject({
      kind: 'refused',
      text: expect.stringContaining('does not hold the whole call'),
    })
  })
})
