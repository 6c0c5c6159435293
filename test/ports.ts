import { createServer } from 'node:net'

/**
 * The first port. It is below the ports that systems give to outgoing connections (from 32768 on Linux). Such a
 * connection could take a free port before a program listens on it. A node of a cluster also listens 10,000 higher.
 * Each worker of the test run has a part of its own.
 */
const FIRST = 10_000
const WORKERS = 8
const PORTS = 1_250
const ownPart = FIRST + (Number(process.env['VITEST_POOL_ID'] ?? 0) % WORKERS) * PORTS

let next = process.pid

/** A port of the loopback without a listener. This worker does not get it again soon. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < PORTS; tries++) {
    const port = ownPart + (next++ % PORTS)
    if (await isFree(port)) return port
  }
  throw new Error(`no free port from ${ownPart} to ${ownPart + PORTS - 1}`)
}

function isFree(port: number): Promise<boolean> {
  const server = createServer()
  return new Promise((resolve) => {
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
