/*
 * A refund agent on the AI SDK, with a page and a webhook.
 *
 *     node refund-agent.mjs   serves http://127.0.0.1:3000, or another PORT
 *
 * Set COUNTERSIGN_URL, COUNTERSIGN_AGENT_KEY and COUNTERSIGN_WEBHOOK_SECRET, and send the webhook to /webhook.
 * A request ends while reviewers decide, and the webhook continues its chat. Chats are files in chats/.
 *
 * `page`, `ask` and `webhook` take a Request and return a Response. In Next.js, export them from route handlers:
 * `export { page as GET, ask as POST }` and `export { webhook as POST }`. The last lines then go.
 *
 * Its model is scripted, so that it runs anywhere.
 */
import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { continueOn, createGate } from '@countersign/sdk'
import { guardTools } from '@countersign/sdk/ai-sdk'
import { generateText, stepCountIs, tool } from 'ai'
import { MockLanguageModelV3 } from 'ai/test'
import { z } from 'zod'

const gate = createGate()

const refund = tool({
  description: 'Refunds an order.',
  inputSchema: z.object({ order: z.string(), amount_cents: z.number().int() }),
  execute: ({ order, amount_cents }) => `refunded ${(amount_cents / 100).toFixed(2)} for ${order}`,
})

/** Calls the refund tool, then repeats the tool's result. Replace it with a real model. */
const model = new MockLanguageModelV3({
  doGenerate: async ({ prompt }) => {
    const { role, content } = prompt.at(-1)
    const order = /\bA-\d+\b/.exec(JSON.stringify(content))?.[0] ?? 'A-0'
    const input = JSON.stringify({ order, amount_cents: 12_500 })
    const said =
      role === 'tool'
        ? { type: 'text', text: `The tool answered: ${content.at(-1).output.value}` }
        : { type: 'tool-call', toolCallId: randomUUID(), toolName: 'refund', input }
    const reason = role === 'tool' ? 'stop' : 'tool-calls'
    return { content: [said], finishReason: { unified: reason }, usage: NO_USAGE, warnings: [] }
  },
})
const NO_USAGE = { inputTokens: {}, outputTokens: {} }

const fileOf = (id) => `chats/${id}.json`
const find = (id) =>
  /^refunds-[\w-]+$/.test(id) && existsSync(fileOf(id))
    ? JSON.parse(readFileSync(fileOf(id), 'utf8'))
    : undefined
function save(chat) {
  mkdirSync('chats', { recursive: true })
  writeFileSync(`${fileOf(chat.id)}.new`, JSON.stringify(chat))
  renameSync(`${fileOf(chat.id)}.new`, fileOf(chat.id))
}

/** The chat is the task of its calls, so a delivery names the chat. */
function guarded(chat) {
  const onPending = ({ thread_id, message }) => chat.held.push({ message, page: gate.pageOf({ thread_id }) })
  return guardTools(gate, { refund }, { prefix: 'payments.', taskId: chat.id, onPending })
}

/** Chats in which the model works now. */
const busy = new Set()

/** Works on a chat, unless this process does so already: then it returns false. */
async function alone({ id }, work) {
  if (busy.has(id)) return false
  busy.add(id)
  return Promise.resolve(work()).finally(() => busy.delete(id))
}

async function turn(chat, tools, message) {
  chat.held = []
  chat.messages.push(message)
  const { response } = await generateText({ model, tools, messages: chat.messages, stopWhen: stepCountIs(5) })
  chat.messages.push(...response.messages)
  save(chat)
}

export async function ask(request) {
  const content = String((await request.formData()).get('text'))
  const chat = { id: `refunds-${randomUUID()}`, messages: [], held: [] }
  save(chat)
  await alone(chat, () => turn(chat, guarded(chat).tools, { role: 'user', content }))
  return new Response(null, { status: 303, headers: { location: `/?chat=${chat.id}` } })
}

export function webhook(request) {
  return continueOn(request, async (_, { task_id = '' }) => {
    const chat = find(task_id)
    if (chat === undefined) return // a call of another program
    return alone(chat, async () => {
      const { tools, settle } = guarded(chat)
      const next = await settle(chat.messages)
      // without a message, another call of the chat still waits
      if (next !== undefined) await turn(chat, tools, next)
    })
  })
}

export function page(request) {
  const chat = find(new URL(request.url).searchParams.get('chat') ?? '') ?? { messages: [], held: [] }
  const lines = chat.messages.flatMap(({ role, content }) =>
    [content].flat().map((part) => [role, part.text ?? part]),
  )
  const said = lines.filter(([, text]) => typeof text === 'string').map(([role, text]) => `${role}: ${text}`)
  const waits = chat.held.map(({ message, page }) => `waiting for reviewers: ${message} ${page}`)
  const form = '<form method=post><input name=text value="Refund order A-7"><button>Ask</button></form>'
  const body = [...said, ...waits].map((line) => `<p>${escaped(line)}`).join('\n')
  return new Response(`<!doctype html><title>Refunds</title>\n${body}\n${form}\n`, {
    headers: { 'content-type': 'text/html; charset=utf-8' },
  })
}

const escaped = (text) => text.replaceAll(/[&<"]/g, (char) => `&#${char.charCodeAt(0)};`)

const ROUTES = { 'GET /': page, 'POST /': ask, 'POST /webhook': webhook }

async function answer(incoming) {
  const { method, url, headers } = incoming
  const address = new URL(`http://127.0.0.1${url}`)
  const route = ROUTES[`${method} ${address.pathname}`]
  if (route === undefined) return new Response(null, { status: 404 })
  const body = method === 'POST' ? await buffer(incoming) : undefined
  return route(new Request(address, { method, headers, body }))
}

createServer(async (incoming, outgoing) => {
  const response = await answer(incoming).catch((error) => {
    console.error(error)
    return new Response(null, { status: 500 })
  })
  outgoing.writeHead(response.status, Object.fromEntries(response.headers))
  outgoing.end(Buffer.from(await response.arrayBuffer()))
}).listen(process.env.PORT ?? 3000, '127.0.0.1', function () {
  console.log(`http://127.0.0.1:${this.address().port}`)
})
