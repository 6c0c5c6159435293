import { describe, expect, it } from 'vitest'
import { connected } from '../../src/outbound/connection.ts'

/** Ports without a listener: the machine refuses an allowed connection, and our code refuses all others. */
const PORTS = { named: 1, another: 2, https: 443 }
const NEVER_MS = 60_000

const codeOf = (host: string, port: number, named: string): Promise<string> =>
  connected({ host, port, options: { allowed: [], named }, withinMs: NEVER_MS }).then(
    () => 'connected',
    (error: Error & { code?: string }) => error.code ?? error.message,
  )

describe('a connection to an origin that the operator has named', () => {
  it("may be made inside the network, to the origin's port, which is 443 by default", async () => {
    expect(await codeOf('127.0.0.1', PORTS.named, `https://127.0.0.1:${PORTS.named}`)).toBe('ECONNREFUSED')
    expect(await codeOf('127.0.0.1', PORTS.https, 'https://127.0.0.1')).not.toBe('refused_address')
    expect(await codeOf('::1', PORTS.named, `https://[::1]:${PORTS.named}`)).not.toBe('refused_address')
  })

  it('may use no other port of that host, and no other host on that port', async () => {
    expect(await codeOf('127.0.0.1', PORTS.another, `https://127.0.0.1:${PORTS.named}`)).toBe(
      'refused_address',
    )
    expect(await codeOf('127.0.0.1', PORTS.https, `https://127.0.0.1:${PORTS.named}`)).toBe('refused_address')
    expect(await codeOf('127.0.0.2', PORTS.named, `https://127.0.0.1:${PORTS.named}`)).toBe('refused_address')
  })

  it('is never made to a metadata service, even if the operator names it', async () => {
    expect(await codeOf('169.254.169.254', PORTS.https, 'https://169.254.169.254')).toBe('refused_address')
  })
})
