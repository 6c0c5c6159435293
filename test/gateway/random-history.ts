import {
  type Agent,
  type Held,
  HOUR,
  MINUTE,
  newTask,
  type Reviewer,
  type World,
} from '../gateway-fixture.ts'
import { diceOf } from '../random.ts'

/** Calls of agents and reviewers, of the timer and of an administrator, in a random order that the seed decides. */
export async function playHistory(world: World, seed: number, steps: number): Promise<void> {
  const { below, one } = diceOf(seed)
  const people: Reviewer[] = []
  for (const id of ['ann', 'ben', 'eve', 'olga']) people.push(await world.reviewer(id))
  const agents: Agent[] = []
  for (const id of ['bot', 'other', 'unsigned', 'short']) agents.push(await world.agent(id))
  const threads: (Held & { agent: Agent; token?: string })[] = []
  const tasks = [newTask(), newTask(), newTask()]

  const submit = async (): Promise<void> => {
    const agent = one(agents) as Agent
    const payload = { amount: [50, 500, 20_000, 60_000, 999_999][below(5)] as number }
    const tool_name = ['pay', 'pay', 'hold', 't', 'brief', 'nothing'][below(6)] as string
    const body = tool_name === 'pay' ? { tool_name, payload } : { tool_name, payload: {} }
    const task = one(tasks) as string
    const headers: Record<string, string> = below(3) === 0 ? { 'idempotency-key': `k${below(5)}` } : {}
    const { body: decision } = await agent.submit(task, body, headers)
    if (decision.thread_id !== undefined)
      threads.push({ agent, task, thread: decision.thread_id, payload: body.payload })
  }
  const recent = (): (typeof threads)[number] | undefined => one(threads.slice(-4))
  const vote = async (): Promise<void> => {
    const thread = recent()
    const decisions = ['approve', 'approve', 'approve', 'approve', 'approve', 'reject', 'request_changes']
    const decision = one(decisions) as string
    const revision = 1 + (below(4) === 0 ? 1 : 0)
    if (thread) await one(people)?.vote(thread.thread, { decision, revision, comment: 'said' })
  }
  const desk = async (): Promise<void> => {
    const acts: readonly [string, object?][] = [
      ['comments', { comment: 'hm' }],
      ['claim', { take_over: below(2) === 0 }],
      ['release'],
      ['reveal', { revision: 1 }],
    ]
    const [act, body] = one(acts) as [string, object?]
    const thread = recent()
    if (thread === undefined) return
    await one(people)?.call('POST', `threads/${thread.thread}/${act}`, body === undefined ? {} : { body })
  }
  const poll = async (): Promise<void> => {
    const thread = below(4) === 0 ? one(threads) : recent()
    const { body } = (await thread?.agent.poll({ thread_id: thread.thread })) ?? {}
    if (thread && body?.approval_token !== undefined) thread.token = body.approval_token
  }
  const redeem = async (): Promise<void> => {
    const thread = one(threads.filter(({ token }) => token !== undefined))
    if (thread === undefined) return
    const { task, payload, token: signature } = thread
    await thread.agent.validate({ task_id: task, request_payload: payload, signature })
  }
  const withdraw = async (): Promise<void> => {
    const thread = below(3) === 0 ? recent() : undefined
    await thread?.agent.withdraw(thread.thread)
  }
  const revise = async (): Promise<void> => {
    const thread = recent()
    if (thread === undefined) return
    const revision = {
      revision_id: `r${below(4)}`,
      tool_name: 'pay',
      request_payload: { amount: 200 + below(9) },
    }
    await thread.agent.revise(thread.task, thread.thread, revision)
  }
  const pass = async (): Promise<void> => {
    const steps = [1, 1_000, 1_000, MINUTE, MINUTE, 5 * MINUTE, 20 * MINUTE, 5 * HOUR, 60 * HOUR]
    world.clock.advance(one(steps) as number)
    if (below(4) > 0) await world.due()
  }
  const rotate = async (): Promise<void> => {
    if (below(4) > 0) return
    agents[0] = await world.agent('bot')
    if (below(2) === 0) await world.admin('DELETE', 'agents/acme/short/key')
    else agents[3] = await world.agent('short')
  }
  const signIn = async (): Promise<void> => {
    const id = one(['ann', 'ben', 'eve']) as string
    const act = below(4)
    if (act === 0) await world.link(id)
    else if (act === 1) await world.admin('DELETE', `reviewers/acme/${id}/sessions`)
    else people.push(await world.signIn(id))
  }
  const freeze = async (): Promise<void> => {
    if (below(2) > 0) return
    const scope = one([
      { agent: 'other' },
      { tool: 'hold' },
      { tool: 'pay' },
      { reviewer: 'ann' },
      { reviewer: 'eve' },
      {},
    ]) as object
    const body = { tenant: 'acme', reason: 'random', ...scope }
    await world.admin('POST', 'freeze', { body })
    if (below(4) === 0) await world.due()
    await world.admin('POST', 'unfreeze', { body })
  }
  /** A call from its submission to its redemption, before anything else happens. */
  const deal = async (): Promise<void> => {
    const task = one(tasks) as string
    const payload = { amount: 500 }
    const { body: held } = await (agents[1] as Agent).submit(task, { tool_name: 'pay', payload })
    const thread_id = held.thread_id ?? ''
    await (people[1] as Reviewer).vote(thread_id, { decision: 'approve', revision: 1 })
    const { body: decision } = await (agents[1] as Agent).poll({ thread_id })
    const signature = decision.approval_token
    await (agents[1] as Agent).validate({ task_id: task, request_payload: payload, signature })
  }
  const acts = [
    deal,
    submit,
    submit,
    vote,
    vote,
    vote,
    vote,
    desk,
    poll,
    poll,
    poll,
    redeem,
    redeem,
    revise,
    withdraw,
    pass,
    rotate,
    signIn,
    freeze,
  ]
  for (let step = 0; step < steps; step++) await one(acts)?.()
}
