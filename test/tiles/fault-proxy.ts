import { createServer, request, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * The fate of a request:
 * - `pass`: the server answers
 * - `refuse`: answers 503, and the server never sees it
 * - `forbid`: answers 403
 * - `break`: answers 500
 * - `cut`: the first ten bytes of the answer, which says no more than these
 * - `lost`: answers 404 with a page, as a proxy does that does not know the server
 * - `drop`: the connection ends before the server sees it
 * - `swallow`: the server executes it, and the connection ends before its answer
 * - `stall`: the answer begins, and never ends
 * - `trickle`: the answer begins, and one more byte follows now and then
 */
export type Fault =
  | 'pass'
  | 'refuse'
  | 'forbid'
  | 'break'
  | 'cut'
  | 'lost'
  | 'drop'
  | 'swallow'
  | 'stall'
  | 'trickle'

const PAGE = '<html><body><h1>404 Not Found</h1></body></html>'

/** Time between two bytes of a `trickle`, ms. */
const TRICKLE_MS = 20

export interface FaultProxy {
  readonly url: string
  /** Decides on each request. */
  fault: (method: string, path: string) => Fault
  close(): Promise<void>
}

/** A proxy before an HTTP server of this machine. It keeps the Host header, which the signature covers. */
export async function startFaultProxy(to: number): Promise<FaultProxy> {
  const server = createServer((incoming, answer) => {
    const { method = '', url = '' } = incoming
    const fault = proxy.fault(method, url)
    const status = { refuse: 503, forbid: 403, break: 500 }[fault as string]
    if (status !== undefined) return void answer.writeHead(status).end()
    if (fault === 'lost') return void answer.writeHead(404, { 'content-type': 'text/html' }).end(PAGE)
    if (fault === 'drop') return void incoming.socket.destroy()
    const forwarded = request({ port: to, host: '127.0.0.1', method, path: url, headers: incoming.headers })
    forwarded.on('error', () => incoming.socket.destroy())
    forwarded.on('response', (found: IncomingMessage) => {
      if (fault === 'swallow') return void found.resume().on('end', () => incoming.socket.destroy())
      if (fault === 'cut') {
        answer.writeHead(found.statusCode ?? 500, { ...found.headers, 'content-length': '10' })
        return void found.once('data', (bytes: Buffer) => answer.end(bytes.subarray(0, 10)))
      }
      const isSlow = fault === 'stall' || fault === 'trickle'
      const length = isSlow ? { 'content-length': '1000000' } : {}
      answer.writeHead(found.statusCode ?? 500, { ...found.headers, ...length })
      if (!isSlow) return void found.pipe(answer)
      found.resume()
      answer.write('first')
      if (fault === 'stall') return
      const timer = setInterval(() => answer.write('.'), TRICKLE_MS)
      answer.on('close', () => clearInterval(timer))
    })
    incoming.pipe(forwarded)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const proxy: FaultProxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    fault: () => 'pass',
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return proxy
}
