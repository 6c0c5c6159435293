import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { CHECKPOINT, TILE_PATH } from '../../tiles/layout.ts'
import { isPacked, type Place, PlaceUnavailable, readContent } from '../../tiles/place.ts'

/** Serves the files of a log to programs of this machine, as C2SP tlog-tiles describes it. */
export interface TileServer {
  readonly url: string
  close(): Promise<void>
}

const LOOPBACK = '127.0.0.1'
/** A page of a browser can name other hosts, and must not read evidence. */
const OWN_HOST = /^(?:127\.0\.0\.1|localhost)(?::\d+)?$/

/** @throws NodeJS.ErrnoException when the port is taken */
export async function serveTiles(place: Place, port: number): Promise<TileServer> {
  const server = createServer((request, response) => {
    answer(place, request, response).catch((error: unknown) => {
      if (response.headersSent) return void response.destroy()
      response.writeHead(error instanceof PlaceUnavailable ? 503 : 500).end()
    })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, LOOPBACK, resolve)
  })
  return {
    url: `http://${LOOPBACK}:${(server.address() as AddressInfo).port}/`,
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function answer(place: Place, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const refused = refusal(request)
  if (refused !== undefined) return void response.writeHead(refused).end()
  const path = pathIn(request)
  const takesGzip = /\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''))
  const bytes = takesGzip ? (await place.read(path))?.bytes : await readContent(place, path)
  if (bytes === undefined) return void response.writeHead(404).end()
  response.writeHead(200, { 'content-length': bytes.length, ...headersOf(path, takesGzip) })
  response.end(request.method === 'HEAD' ? undefined : bytes)
}

const pathIn = ({ url = '' }: IncomingMessage): string => url.slice(1)

function refusal(request: IncomingMessage): number | undefined {
  if (!OWN_HOST.test(request.headers.host ?? '')) return 403
  if (!['GET', 'HEAD'].includes(request.method ?? '')) return 405
  const path = pathIn(request)
  return path === CHECKPOINT || TILE_PATH.test(path) ? undefined : 404
}

function headersOf(path: string, takesGzip: boolean): Record<string, string> {
  if (path === CHECKPOINT) return { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-cache' }
  return {
    'content-type': 'application/octet-stream',
    'cache-control': 'max-age=604800, immutable',
    ...(isPacked(path) ? { vary: 'accept-encoding' } : {}),
    ...(isPacked(path) && takesGzip ? { 'content-encoding': 'gzip' } : {}),
  }
}
