// @store each, in the soak
import { beforeEach, describe, expect, it } from 'vitest'
import type { ChatList } from '../../src/contract/chat.ts'
import { hashCredential } from '../../src/domain/credential.ts'
import { proposeLink } from '../../src/gateway/chat/link.ts'
import { eachWorld, world } from '../agent-world.ts'
import { type Answer, HOUR, MINUTE, type SignedIn } from '../gateway-fixture.ts'

/** Linked accounts (docs/chat.md): the right to link them, and their end. */

let ben: SignedIn
eachWorld()
beforeEach(async () => {
  ben = await world.signIn('ben')
})

const claims = (member: string, workspace = 'T1') => ({
  'https://slack.com/team_id': workspace,
  'https://slack.com/user_id': member,
  'https://slack.com/team_name': 'Acme',
  name: 'Ben B.',
})

/** The answer of the chat, as the console receives it. */
const proposal = (by: SignedIn, member = 'U1', workspace = 'T1', tenant = 'acme'): string =>
  proposeLink(
    world.app.deps,
    {
      issuer: 'https://slack.com',
      subject: member,
      claims: claims(member, workspace),
    },
    { tenant, session: hashCredential(by.key) },
  )
const link = (by: SignedIn, text = proposal(by)): Promise<Answer<unknown>> =>
  by.call('POST', 'chats', { body: { proposal: text } })
const linked = async (by: SignedIn): Promise<string[]> =>
  (await by.call<ChatList>('GET', 'chats')).body.linked.map(
    ({ workspace, member }) => `${workspace}/${member}`,
  )
const ends = async (): Promise<unknown[]> =>
  (await world.evidence()).flatMap(({ record }) =>
    record.type === 'chat.unlinked' ? [record.details?.['reason']] : [],
  )

describe('a link', () => {
  it('names both accounts before it asks, and evidence keeps the ids beside the log', async () => {
    const text = proposal(ben)
    const look = await ben.call('POST', 'chats/look', {
      body: { proposal: text },
    })
    expect(look.body).toEqual({
      reviewer: 'ben',
      workspace: 'T1',
      member: 'U1',
      workspace_name: 'Acme',
      member_name: 'Ben B.',
    })
    expect(await linked(ben)).toEqual([])
    expect((await link(ben, text)).status).toBe(201)
    expect(await linked(ben)).toEqual(['T1/U1'])
    const made = (await world.evidence()).find(({ record }) => record.type === 'chat.linked')
    expect(made?.disclosures?.members).toEqual({
      member: 'U1',
      workspace: 'T1',
    })
    expect(JSON.stringify(made?.record)).not.toContain('U1')
  })

  it('works only in the session that began it, and for ten minutes (open-swe 1383)', async () => {
    const text = proposal(ben)
    const cat = await world.signIn('cat')
    const again = await world.signIn('ben')
    for (const other of [cat, again]) expect((await link(other, text)).problem.code).toBe('not_permitted')
    expect((await link(ben, proposal(ben, 'U1', 'T1', 'umbra'))).problem.code).toBe('not_permitted')
    expect((await link(ben, `${text.slice(0, -2)}AA`)).problem.code).toBe('not_permitted')
    world.clock.advance(11 * MINUTE)
    expect((await link(ben, text)).problem.code).toBe('not_permitted')
    expect(await linked(ben)).toEqual([])
  })

  it('is one to one: a member has one reviewer, a reviewer one member of a workspace', async () => {
    expect((await link(ben)).status).toBe(201)
    const cat = await world.signIn('cat')
    expect((await link(cat)).problem.code).toBe('already_linked')
    expect((await link(ben, proposal(ben, 'U2'))).problem.code).toBe('already_linked')
    expect((await link(ben, proposal(ben, 'U2', 'T2'))).status).toBe(201)
    expect((await link(ben)).status).toBe(201)
    expect(await ends()).toEqual(['renewed'])
    expect(await linked(ben)).toEqual(['T1/U1', 'T2/U2'])
  })

  it('needs a session: a key cannot link', async () => {
    const reviewer = await world.reviewer('ben')
    expect(
      (
        await reviewer.call('POST', 'chats', {
          body: { proposal: proposal(ben) },
        })
      ).status,
    ).toBe(403)
    expect((await ben.call('POST', 'chats/start')).problem.code).toBe('not_found')
  })
})

describe('the end of a link', () => {
  beforeEach(async () => {
    await link(ben)
  })

  it('unlinking: by its reviewer only', async () => {
    const cat = await world.signIn('cat')
    expect((await cat.call('DELETE', 'chats/T1/U1')).status).toBe(404)
    expect((await ben.call('DELETE', 'chats/T1/U1')).status).toBe(204)
    expect(await ends()).toEqual(['unlinked'])
    expect((await link(cat)).status).toBe(201)
  })

  it('sign-out by an administrator', async () => {
    await world.admin('DELETE', 'reviewers/acme/ben/sessions')
    expect(await ends()).toEqual(['ended_by_admin'])
  })

  it('a freeze', async () => {
    await world.admin('POST', 'freeze', {
      body: { tenant: 'acme', reviewer: 'ben', reason: 'lost' },
    })
    expect(await ends()).toEqual(['frozen'])
  })

  it('a changed directory entry, and thirty days, at the latest at the next look', async () => {
    world.clock.advance(29 * 24 * HOUR)
    await world.due()
    expect(await ends()).toEqual([])
    world.clock.advance(24 * HOUR)
    await world.due()
    expect(await ends()).toEqual(['expired'])
  })
})
