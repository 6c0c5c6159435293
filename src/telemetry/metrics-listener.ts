import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
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

export async function listenForOperators(
  pages: OperatorPages,
  host: string,
  port: number,
): Promise<MetricsListener> {
  const server = createServer((request, response) => {
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
