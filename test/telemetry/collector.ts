import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface SpanLink {
  readonly traceId: string
  readonly spanId: string
}

/** A span as OTLP has it, its attributes by name. */
export interface Span extends SpanLink {
  readonly name: string
  readonly parentSpanId?: string
  readonly traceState?: string
  readonly links: readonly SpanLink[]
  readonly attributes: Readonly<Record<string, unknown>>
  readonly status: { readonly code?: number }
}

export interface Collector {
  readonly url: string
  readonly spans: Span[]
  /** Everything that was sent, as text. */
  readonly received: string[]
  readonly connections: number
  close(): Promise<void>
}

interface Sent {
  readonly resourceSpans?: readonly {
    readonly scopeSpans: readonly {
      readonly spans: readonly (Omit<Span, 'attributes' | 'links'> & {
        readonly links?: readonly SpanLink[]
        readonly attributes: readonly { readonly key: string; readonly value: Record<string, unknown> }[]
      })[]
    }[]
  }[]
}

/** An OTLP collector on the loopback that keeps all requests. With `answers: false` it connects and never answers. */
export async function startCollector({ answers = true } = {}): Promise<Collector> {
  const spans: Span[] = []
  const received: string[] = []
  let connections = 0
  const server = createServer((request, response) => {
    let text = ''
    request.on('data', (chunk: Buffer) => (text += chunk.toString()))
    request.on('end', () => {
      received.push(`${request.method} ${request.url} ${JSON.stringify(request.headers)}\n${text}`)
      spans.push(...spansOf(JSON.parse(text) as Sent))
      if (answers) response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    })
  })
  server.on('connection', () => connections++)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    received,
    get connections() {
      return connections
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function spansOf({ resourceSpans = [] }: Sent): Span[] {
  const all = resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans))
  return all.map((span) => ({
    ...span,
    links: span.links ?? [],
    attributes: Object.fromEntries(
      span.attributes.map(({ key, value }) => [key.replace('countersign.', ''), Object.values(value)[0]]),
    ),
  }))
}
