import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Exposition, type Format, formatFor } from './exposition.ts'

/** `/metrics` on its own listener, so that it is never on the agents' port. */
export interface MetricsListener {
  readonly port: number
  close(): Promise<void>
}

/** Whatever `params` a scrape job has: there is one page. */
const PLACE = /^\/metrics(?:\?|$)/

export type Scrape = (format: Format) => Promise<Exposition>

export async function listenForScrapes(scrape: Scrape, host: string, port: number): Promise<MetricsListener> {
  const server = createServer((request, response) => {
    if (request.method !== 'GET' || !PLACE.test(request.url ?? '')) {
      response.writeHead(404).end()
      return
    }
    answer(scrape, request, response).catch(() => response.writeHead(503).end())
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

async function answer(scrape: Scrape, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { contentType, text } = await scrape(formatFor(request.headers.accept))
  response.writeHead(200, { 'content-type': contentType, vary: 'accept' }).end(text)
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
}
