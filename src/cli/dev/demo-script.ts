import type { VoteRequest } from '../../contract/review-requests.ts'
import { createGate, type Decision, type Gate, NotExecuted } from '@countersign/sdk'
import { type Api, createApi } from '../client/api-client.ts'
import { createWorld, type DemoWorld } from './demo-world.ts'

/** The steps of the demo. Each step prints its attempt, runs it through the SDK, and checks the result. */

/** The demo agent and the reviewer who decides on its calls, with their keys. */
export interface DemoCast {
  readonly url: string
  readonly agent_key: string
  readonly reviewer_key: string
}

/** Calls of the demo that policy holds. */
const HELD = 3

interface Story {
  readonly gate: Gate
  readonly world: DemoWorld
  readonly reviewer: Api
  readonly auto: boolean
  readonly taskId: string
  readonly failures: string[]
  /** Held calls that were approved. */
  approved: number
}

const NOTE = { path: '/workspace/notes/today.md', content: 'Water the plants.\n' }
const SECRET = { path: '/etc/passwd', content: 'root::0:0::/:/bin/sh\n' }
const SMALL = { from: 'acct_ops', to: 'acct_travel', amount_cents: 2_500, currency: 'eur', memo: 'taxi' }
const MEDIUM = {
  from: 'acct_ops',
  to: 'acct_travel',
  amount_cents: 25_000,
  currency: 'eur',
  memo: 'train tickets',
}
const LARGE = { from: 'acct_ops', to: 'acct_travel', amount_cents: 90_000, currency: 'eur', memo: 'flights' }
const REVISED = { ...LARGE, amount_cents: 45_000, memo: 'flights, cheaper ones' }
const WAIT_FOR_PEOPLE_MS = 15 * 60_000

/** Resolves with true only if every step obeyed the contract. */
export async function runDemo(credentials: DemoCast, { auto }: { auto: boolean }): Promise<boolean> {
  const taskId = `demo-${Date.now().toString(36)}`
  const story: Story = {
    gate: createGate({
      url: credentials.url,
      key: credentials.agent_key,
      taskId,
      maxWaitMs: WAIT_FOR_PEOPLE_MS,
    }),
    world: await createWorld(),
    reviewer: createApi({ url: credentials.url, key: credentials.reviewer_key }),
    auto,
    taskId,
    failures: [],
    approved: 0,
  }
  console.log(`\n  Demo agent, task ${taskId}. Its world is ${story.world.directory}\n`)
  for (const step of [
    allowed,
    rejected,
    allowedTransfer,
    approvedByPeople,
    secondRedemption,
    revisedOnRequest,
  ]) {
    await step(story)
  }
  await closing(story)
  return story.failures.length === 0
}

async function allowed(story: Story): Promise<void> {
  say('1', 'write a note', 'small notes are allowed at once')
  const done = await story.gate.guard('file.write', NOTE, story.world.writeFile)
  result(story, done, (await story.world.fileAt(NOTE.path)) === NOTE.content)
}

async function rejected(story: Story): Promise<void> {
  say('2', 'write /etc/passwd', 'policy rejects it, and nothing runs')
  const refusal = await refusalOf(story.gate.guard('file.write', SECRET, story.world.writeFile))
  const asTold = refusal?.code === 'rejected' && !(await story.world.fileAt(SECRET.path))
  result(story, refusal?.reason ?? 'it ran', asTold, 'rejected, as intended')
}

async function allowedTransfer(story: Story): Promise<void> {
  say(
    '3',
    'transfer 25.00',
    'policy allows it, with a one-time proof, so that a repeated step moves nothing twice',
  )
  const done = await story.gate.guard('ledger.transfer', SMALL, story.world.transfer)
  result(story, done, (await story.world.balances())['acct_travel'] === 52_500)
}

async function approvedByPeople(story: Story): Promise<void> {
  say('4', 'transfer 250.00', 'a reviewer decides, and the agent waits')
  const guarded = (): Promise<string> =>
    story.gate.guard('ledger.transfer', MEDIUM, story.world.transfer, {
      subject: 'Train fares for the offsite',
      onPending: (decision) =>
        pending(story, decision, () => decide(story, decision, 'approve', 'Looks right.')),
    })
  await moved(story, guarded, () => MEDIUM.amount_cents)
}

/**
 * Runs a transfer and checks the ledger. An approved call must have moved exactly its amount, and any other call must
 * have moved nothing. A refusal counts as expected unless the demo itself acted as the reviewer.
 */
async function moved(story: Story, guarded: () => Promise<string>, cents: () => number): Promise<void> {
  const before = await travelCents(story)
  const done = await guarded().then(
    (text) => ({ text, ran: true, refused: false }),
    (error: unknown) => ({ text: messageOf(error), ran: false, refused: error instanceof NotExecuted }),
  )
  const change = (await travelCents(story)) - before
  const asTold = done.ran ? change === cents() : done.refused && !story.auto && change === 0
  if (done.ran) story.approved += 1
  result(story, done.ran ? done.text : `nothing ran: ${done.text}`, asTold)
}

async function travelCents({ world }: Story): Promise<number> {
  return (await world.balances())['acct_travel'] ?? 0
}

/** Redeems the same proof twice, without `guard`. */
async function secondRedemption(story: Story): Promise<void> {
  say('5', 'redeem a proof twice', 'a proof works once, if the call is approved')
  const { client } = story.gate
  const { payload, taskId } = {
    payload: { ...MEDIUM, amount_cents: 12_000, memo: 'hotel' },
    taskId: story.taskId,
  }
  const submitted = await client.submit(taskId, {
    tool_name: 'ledger.transfer',
    payload,
    subject: 'Hotel for the offsite',
  })
  pending(story, submitted, () => decide(story, submitted, 'approve', 'Fine.'))
  const decision = await settled(story, submitted)
  // a call without a proof cannot be redeemed, which agrees with the contract
  if (decision.status !== 'approved' && !story.auto)
    return result(story, `${decision.status}, so there is no proof: ${decision.message ?? ''}`, true)
  if (decision.status === 'approved') story.approved += 1
  const proof = { task_id: taskId, signature: decision.approval_token ?? '', request_payload: payload }
  const first = await client.validate(proof)
  const second = await client.validate(proof)
  const asTold = first.valid === true && second.valid === false && second.reason === 'used'
  result(story, `first: valid ${first.valid}; second: ${second.reason ?? 'valid'}`, asTold)
}

async function revisedOnRequest(story: Story): Promise<void> {
  const asked = 'the reviewer asks for changes, and the agent revises the same thread'
  say('6', 'transfer 900.00', story.auto ? asked : 'you approve it, reject it, or ask for changes')
  let thread = ''
  let cents = LARGE.amount_cents
  const guarded = (): Promise<string> =>
    story.gate.guard('ledger.transfer', LARGE, story.world.transfer, {
      subject: 'Flights for the offsite',
      onPending: (decision) => {
        thread = decision.thread_id ?? ''
        pending(story, decision, () =>
          decide(story, decision, 'request_changes', 'Too much: half of it is enough.'),
        )
      },
      revise: (feedback) => {
        cents = REVISED.amount_cents
        console.log(`       the reviewer says: ${feedback}`)
        console.log('       revised to 450.00; earlier votes are void, and people decide again')
        if (story.auto) void approveRevision(story).catch((error: unknown) => problem(story, error))
        else console.log(`       waiting for you:  npx countersign review approve ${thread} --revision 2`)
        return REVISED
      },
    })
  await moved(story, guarded, () => cents)
}

/** Shows who must decide; with --auto, decides as the demo reviewer. */
function pending(story: Story, decision: Decision, play: () => Promise<void>): void {
  const { thread_id = '', message = '' } = decision
  console.log(`       held: ${message}`)
  if (story.auto) void play().catch((error: unknown) => problem(story, error))
  else {
    console.log(`       waiting for you:  npx countersign review approve ${thread_id}`)
    console.log(
      `       or                npx countersign review request-changes ${thread_id} -m "half of it"`,
    )
  }
}

async function decide(
  story: Story,
  { thread_id = '' }: Decision,
  decision: VoteRequest['decision'],
  comment: string,
): Promise<void> {
  const params = { thread_id }
  const { revision } = await story.reviewer.show_thread({ params })
  await story.reviewer.vote({ params, body: { decision, revision, comment } })
}

/** Waits until the thread shows the revision, then approves exactly that revision. */
async function approveRevision(story: Story): Promise<void> {
  const { threads } = await story.reviewer.list_threads({
    query: { agent: 'demo-agent', task_id: story.taskId, limit: '1' },
  })
  const thread_id = threads[0]?.thread_id ?? ''
  for (let look = 0; look < 200; look++) {
    const { revision } = await story.reviewer.show_thread({ params: { thread_id } })
    if (revision === 2) return decide(story, { thread_id } as Decision, 'approve', 'Better.')
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
  throw new Error('the revision did not arrive')
}

async function settled(story: Story, decision: Decision): Promise<Decision> {
  const { thread_id = '' } = decision
  for (let current = decision; ;) {
    if (current.status !== 'pending_review') return current
    current = await story.gate.client.poll({ thread_id }, { waitSeconds: 50 })
  }
}

async function refusalOf(guarded: Promise<unknown>): Promise<NotExecuted | undefined> {
  return guarded.then(
    () => undefined,
    (error: unknown) => {
      if (error instanceof NotExecuted) return error
      throw error
    },
  )
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

function say(number: string, what: string, why: string): void {
  console.log(`  ${number}.  ${what}: ${why}`)
}

function result(story: Story, text: string, asTold: boolean, good = 'ok'): void {
  console.log(`       ${asTold ? good : 'NOT AS EXPECTED'}: ${text}\n`)
  if (!asTold) story.failures.push(text)
}

function problem(story: Story, error: unknown): void {
  console.log(`       the reviewer could not vote: ${messageOf(error)}`)
  story.failures.push(messageOf(error))
}

async function closing(story: Story): Promise<void> {
  const balances = Object.entries(await story.world.balances()).map(
    ([account, cents]) => `${account} ${(cents / 100).toFixed(2)}`,
  )
  console.log(`  The ledger now: ${balances.join(', ')}`)
  const approved = story.approved === 0 ? 'None' : `${story.approved}`
  console.log(
    `  ${approved} of the ${HELD} held calls ${story.approved === 1 ? 'was' : 'were'} approved. No other held call ran.`,
  )
  console.log(
    story.failures.length === 0
      ? '  Every step went as the contract says.\n'
      : `  Steps that did not go as the contract says: ${story.failures.length}.\n`,
  )
}
