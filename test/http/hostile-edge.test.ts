import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, it } from 'vitest'
import { agentWorld, ann, bot, world } from '../agent-world.ts'
import { type Approved, approved, held, REVIEWED } from '../gateway-fixture.ts'
import { exchange } from './socket.ts'

/**
 * The edges of HTTP, header by header. Each answer follows the standard or the contract. A refused request changes
 * nothing.
 */

interface Entry {
  readonly id: string
  readonly category: string
  readonly want: string
  readonly why: string
  readonly raw: string
}

const FILE = new URL('../data/hostile/hostile-edge.json', import.meta.url)
const { count, entries } = JSON.parse(readFileSync(FILE, 'utf8')) as { count: number; entries: Entry[] }
const CATEGORIES = [...new Set(entries.map(({ category }) => category))]

agentWorld()

const records = async (): Promise<number> => (await world.app.deps.store.events('acme', 0, 10_000)).length

/** A thread that reviewers have approved and whose token no agent has collected. */
async function ready(): Promise<string> {
  const { thread } = await held(bot)
  await ann.approve(thread)
  return thread
}

/**
 * Entries that parsers before llhttp 9 (Node 20.19.0 and 20.19.1) take for the end of a chunk. The gateway cannot see
 * them. The doctor warns of these parsers.
 */
const LET_THROUGH = new Set(Number.parseInt(process.versions['llhttp'] ?? '') < 9 ? ['E060'] : [])

/** Returns the fault of the answer, if any. */
async function faultOf({ id, want, raw }: Entry, thread: string): Promise<string | undefined> {
  const before = await records()
  const bytes = raw.replaceAll('$KEY', bot.key).replaceAll('$THREAD', thread)
  const { status, text, answers } = await exchange(world.url, [bytes])
  if (String(status) !== (LET_THROUGH.has(id) ? '200' : want))
    return `answered ${status}: ${text.slice(-200)}`
  if (answers !== 1) return `answered ${answers} times`
  if (status < 400) return undefined
  if ((await records()) !== before) return 'left a record'
  const isProblem = /content-type: application\/problem\+json/i.test(text)
  return isProblem && /cache-control: no-store/i.test(text) ? undefined : 'not a problem document'
}

describe('hostile HTTP by header', () => {
  it('contains every entry of the file', () => {
    expect(new Set(entries.map(({ id }) => id)).size).toBe(count)
    expect(CATEGORIES).toHaveLength(14)
  })

  it.each(CATEGORIES)('%s', async (category) => {
    let thread = await ready()
    const wrong: string[] = []
    for (const entry of entries.filter((one) => one.category === category)) {
      const fault = await faultOf(entry, thread)
      if (fault !== undefined) wrong.push(`${entry.id} (${entry.why}, ${entry.want}) ${fault}`)
      if (entry.want === '200' && entry.raw.includes('$THREAD')) thread = await ready()
    }
    expect(wrong).toEqual([])
    expect((await bot.poll({ thread_id: thread })).body.approval_token).toBeDefined()
  })

  it('none of these requests was logged as an error', () => {
    expect(world.logged.filter((line) => line.includes('"level":"error"'))).toEqual([])
  })
})

const VALIDATE = '/api/agent/approvals/validate'
const JSON_TYPE = 'Content-Type: application/json\r\n'

const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`

/** Whole proofs in faulty requests. Each entry makes the header lines and the body. */
const PROOFS: readonly (readonly [
  string,
  (body: string) => readonly [lines: string, body: string],
  number,
])[] = [
  [
    'a broken chunk behind it',
    (body) => [`${JSON_TYPE}Transfer-Encoding: chunked\r\n`, `${chunk(body)}zz\r\n`],
    400,
  ],
  [
    'a broken trailer',
    (body) => [`${JSON_TYPE}Transfer-Encoding: chunked\r\n`, `${chunk(body)}0\r\nbad\r\n\r\n`],
    400,
  ],
  [
    'a coding below chunked',
    (body) => [`${JSON_TYPE}Transfer-Encoding: gzip, chunked\r\n`, `${chunk(body)}0\r\n\r\n`],
    400,
  ],
  ['two lengths', (body) => [`${JSON_TYPE}${`Content-Length: ${body.length}\r\n`.repeat(2)}`, body], 400],
  [
    'a length and chunks',
    (body) => [`${JSON_TYPE}Content-Length: ${body.length}\r\nTransfer-Encoding: chunked\r\n`, body],
    400,
  ],
  ['two Hosts', (body) => [`Host: b\r\n${JSON_TYPE}Content-Length: ${body.length}\r\n`, body], 400],
  ['an expectation', (body) => [`Expect: gold\r\n${JSON_TYPE}Content-Length: ${body.length}\r\n`, body], 417],
  [
    'an encoding',
    (body) => [`Content-Encoding: gzip\r\n${JSON_TYPE}Content-Length: ${body.length}\r\n`, body],
    200,
  ],
  ['another type', (body) => [`Content-Type: text/plain\r\nContent-Length: ${body.length}\r\n`, body], 200],
  ['two types', (body) => [`${JSON_TYPE.repeat(2)}Content-Length: ${body.length}\r\n`, body], 200],
  ['no type', (body) => [`Content-Length: ${body.length}\r\n`, body], 200],
]

describe('a proof in a malformed request', () => {
  let one: Approved
  beforeAll(async () => {
    one = await approved(bot, ann)
  })

  it.each(PROOFS)('is not redeemed: %s', async (_, make, status) => {
    const proof = { task_id: one.task, signature: one.token, request_payload: REVIEWED }
    const [lines, body] = make(JSON.stringify(proof))
    const head = `POST ${VALIDATE} HTTP/1.1\r\nHost: gw.test\r\nAuthorization: Bearer ${bot.key}\r\n`
    const reply = await exchange(world.url, [`${head}${lines}\r\n${body}`])
    expect(reply.status).toBe(status)
    if (status === 200) expect(reply.text).toMatch(/\{"valid":false,"reason":"invalid"\}$/)
    else expect(reply.closed).toBe(true)
  })

  it('is still valid afterwards', async () => {
    const proof = { task_id: one.task, signature: one.token, request_payload: REVIEWED }
    expect((await bot.validate(proof)).body).toEqual({ valid: true })
  })
})
