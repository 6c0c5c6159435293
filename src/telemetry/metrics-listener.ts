import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, isIP } from 'node:net'
import { type Exposition, type Format, formatFor } from './count/exposition.ts'

/**
 * Serves `/metrics` with `/livez` and `/readyz` on a separate port, away from agents. In each turn, the event loop
 * accepts one connection per listener. On the agents' port, a probe might wait for a thousand earlier connections.
 */
export interface MetricsListener {
  readonly port: number
  close(): Promise<void>
}

/** The pages. A scrape job may add any query. */
const PLACE = /^\/(metrics|livez|readyz)(?:\?|$)/

export type Scrape = (format: Format) => Promise<Exposition>

export interface OperatorPages {
  readonly scrape: Scrape
  /** Returns the same readiness as the agents' port. */
  readonly ready: () => Promise<{ readonly ready: boolean }>
}

/** The address and port to listen on, and names of this listener that a stranger could own otherwise. */
export interface OperatorPlace {
  readonly host: string
  readonly port: number
  readonly names?: readonly string[] | undefined
}

/** Names without a dot, and names of private networks (RFC 6761, RFC 6762, `.internal`, Kubernetes). */
const PRIVATE_NAME = /^(?:[^.]+|.+\.(?:localhost|local|internal|svc))$/i

/**
 * True when the request names this listener. A page of a stranger's domain that points its name at this address would
 * otherwise read the names of tools in a browser here.
 */
function isAddressed({ headers: { host } }: IncomingMessage, names: readonly string[]): boolean {
  if (host === undefined) return true
  const name = host.replace(/:\d*$/, '')
  return (
    isIP(name.replace(/^\[(.*)\]$/, '$1')) > 0 ||
    PRIVATE_NAME.test(name) ||
    names.includes(name.toLowerCase())
  )
}

export async function listenForOperators(
  pages: OperatorPages,
  { host, port, names = [] }: OperatorPlace,
): Promise<MetricsListener> {
  const server = createServer((request, response) => {
    response.setHeader('x-content-type-options', 'nosniff')
    if (!isAddressed(request, names)) {
      response.writeHead(421, { 'content-type': 'text/plain' }).end(UNKNOWN_NAME)
      return
    }
    const page = request.method === 'GET' ? PLACE.exec(request.url ?? '')?.[1] : undefined
    show(pages, page, { request, response }).catch(() => response.writeHead(503).end())
  })
  await listen(server, host, port)
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

const UNKNOWN_NAME =
  'the Host header names another server; COUNTERSIGN_METRICS_NAMES adds names of this one\n'

interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

async function show(
  { scrape, ready }: OperatorPages,
  page: string | undefined,
  { request, response }: Exchange,
): Promise<void> {
  if (page === 'metrics') {
    const { contentType, text } = await scrape(formatFor(request.headers.accept))
    response.writeHead(200, { 'content-type': contentType, vary: 'accept' }).end(text)
  } else if (page === 'livez') {
    answer(response, 200, { live: true })
  } else if (page === 'readyz') {
    const readiness = await ready()
    answer(response, readiness.ready ? 200 : 503, readiness)
  } else response.writeHead(404).end()
}

function answer(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(body))
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
}
