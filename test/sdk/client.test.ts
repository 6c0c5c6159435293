import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createClient } from '../../src/sdk/client.ts'
import { collectGarbage } from '../garbage.ts'

/** The client's own limit of time. */

let server: Server
let heard = 0

beforeEach(async () => {
  heard = 0
  server = createServer((request, response) => {
    heard += 1
    // the head and the beginning of a body, or nothing at all
    if (request.url?.includes('begun')) response.writeHead(200).write('{')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})
afterEach(() => {
  server.closeAllConnections()
  server.close()
})

const client = (timeoutMs: number) => {
  const { port } = server.address() as AddressInfo
  return createClient({ url: `http://127.0.0.1:${port}`, key: 'k', timeoutMs })
}

describe('a call that nobody answers', () => {
  it.each(['silent', 'begun'])(
    'ends in time, whatever the engine has forgotten meanwhile: %s',
    async (task) => {
      const { signal } = new AbortController()
      const call = client(300).submit(task, { tool_name: 't' }, { signal })
      const ended = expect(call).rejects.toMatchObject({ code: 'unreachable' })
      await expect.poll(() => heard).toBe(1)
      await collectGarbage()
      await ended
    },
    10_000,
  )

  it('ends when the caller says so', async () => {
    const controller = new AbortController()
    const call = client(60_000).submit('silent', { tool_name: 't' }, { signal: controller.signal })
    const ended = expect(call).rejects.toMatchObject({ code: 'unreachable' })
    await expect.poll(() => heard).toBe(1)
    controller.abort()
    await ended
    const late = client(60_000).submit('silent', { tool_name: 't' }, { signal: controller.signal })
    await expect(late).rejects.toMatchObject({ code: 'unreachable' })
  })
})
