import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Agent, newTask, openWorld, type World } from '../gateway-fixture.ts'
import { exchange } from './socket.ts'

/** Clients that hold a connection for nothing. In a file of its own: it takes as long as the gateway is patient. */

let world: World
let bot: Agent

beforeAll(async () => {
  world = await openWorld()
  bot = await world.agent()
})
afterAll(() => world.close())

describe('slow clients', () => {
  it('408 or an end for a body and a header that stop half-way, and nobody else is held up', async () => {
    const head = `Host: x\r\nAuthorization: Bearer ${bot.key}\r\nContent-Type: application/json\r\n`
    const body = `POST /api/agent/tasks/slow/requests HTTP/1.1\r\n${head}Content-Length: 17\r\n\r\n{"tool`
    const validate = `POST /api/agent/approvals/validate HTTP/1.1\r\n${head}Content-Length: 17\r\n\r\n{"tool`
    const header = 'GET /livez HTTP/1.1\r\nHost: x\r\nX-A: '
    const waiting = [body, validate, header].map((text) => exchange(world.url, [text]))
    expect((await bot.submit(newTask(), { tool_name: 't' })).status).toBe(200)
    for (const reply of await Promise.all(waiting)) {
      expect([reply.closed, reply.status]).toEqual([true, 408])
      expect(reply.text.toLowerCase()).toContain('cache-control: no-store')
      expect(reply.text).toContain('"code":"request_timeout"')
    }
    expect((await world.evidence()).filter(({ record }) => record.task_id === 'slow')).toEqual([])
  }, 20_000)
})
