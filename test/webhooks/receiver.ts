import { readFileSync, rmSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer, type Server } from 'node:https'
import { join } from 'node:path'
import { checkComponent } from '../documented.ts'
import { makeAuthority } from './certificates.ts'

/** One request that a receiver got. */
export interface Got {
  readonly headers: Readonly<Record<string, string>>
  readonly raw: string
  readonly body: Readonly<Record<string, unknown>> & { readonly id: string; readonly type: string }
}

type Answer = (got: Got, response: ServerResponse) => void

/** A receiver of webhooks on loopback, with a certificate that `ca` vouches for. */
export class Receiver {
  readonly got: Got[] = []
  readonly #server: Server
  answer: Answer = (_, response) => void response.end()
  /** When it is set, what every request without a body is answered with. */
  json: (() => object) | undefined
  asked = 0

  constructor(server: Server) {
    this.#server = server
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      void this.#take(request, response)
    })
  }

  get port(): number {
    return (this.#server.address() as { port: number }).port
  }

  get url(): string {
    return `https://127.0.0.1:${this.port}/hook`
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.asked += 1
    const raw = await wholeText(request)
    // the calling process has ended
    if (raw === undefined) return
    if (raw === '' && this.json !== undefined) {
      response.setHeader('content-type', 'application/json').end(JSON.stringify(this.json()))
      return
    }
    const got = {
      headers: request.headers as Record<string, string>,
      raw,
      body: JSON.parse(raw) as Got['body'],
    }
    this.got.push(got)
    this.answer(got, response)
  }

  types(): string[] {
    return this.got.map(({ body }) => body.type)
  }

  /** Answers every request with the status, and these headers. */
  answers(status: number, headers: Record<string, string> = {}): void {
    this.answer = (_, response) => void response.writeHead(status, headers).end()
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}

/** Undefined when it ends before it is whole. */
async function wholeText(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = []
  try {
    for await (const chunk of request) chunks.push(chunk as Buffer)
  } catch {
    return undefined
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** Starts receivers that one authority vouches for. */
export class Receivers {
  readonly #authority = makeAuthority()
  readonly #open: Receiver[] = []

  constructor() {
    this.#authority.issue('receiver', { names: ['IP:127.0.0.1', 'DNS:localhost'] })
  }

  get ca(): string {
    return this.#read('ca.crt')
  }

  #read(name: string): string {
    return readFileSync(join(this.#authority.directory, name), 'utf8')
  }

  async open(): Promise<Receiver> {
    const server = createServer({ cert: this.#read('receiver.crt'), key: this.#read('receiver.key') })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const receiver = new Receiver(server)
    this.#open.push(receiver)
    return receiver
  }

  async dispose(): Promise<void> {
    for (const one of this.#open) await one.close()
    rmSync(this.#authority.directory, { recursive: true, force: true })
    const delivered = this.#open.flatMap(({ got }) => got).filter(({ headers }) => 'webhook-id' in headers)
    for (const { body } of delivered) checkComponent(componentOf(body), body)
  }
}

function componentOf(body: object): 'WebhookBody' | 'WebhookChatBody' | 'WebhookTeamsBody' {
  if ('text' in body) return 'WebhookChatBody'
  return 'attachments' in body ? 'WebhookTeamsBody' : 'WebhookBody'
}
