import { connect, type Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { LIMITS } from '../../src/contract/limits.ts'
import { agentWorld, ann, bot, world } from '../agent-world.ts'
import { newTask } from '../gateway-fixture.ts'
import { exchange } from './socket.ts'

/** Clients that hold a connection for nothing. In a file of its own: it takes as long as the gateway is patient. */

agentWorld()

describe('slow clients', () => {
  it('408 or a closed connection for a body and a header that stop half-way, without delaying others', async () => {
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
  })

  it.each([
    ['POST', '/api/review/session', '100 Continue'],
    ['DELETE', '/api/review/session', '401 Unauthorized'],
    ['POST', '/api/review/nowhere', '404 Not Found'],
    ['PUT', '/console/', '404 Not Found'],
    ['POST', '/api/admin/nowhere', '404 Not Found'],
  ])(
    'strangers with incomplete bodies block no reviewer and no administrator: %s %s',
    async (method, path, begins) => {
      const head = `Host: x\r\nOrigin: ${world.url}\r\nContent-Type: application/json\r\nExpect: 100-continue`
      const text = `${method} ${path} HTTP/1.1\r\n${head}\r\nContent-Length: 17\r\n\r\n{"link`
      const strangers: Socket[] = []
      try {
        await open(strangers, 150, text, begins)
        expect((await ann.call('GET', 'me')).status).toBe(200)
        await world.signIn('ann')
        expect((await world.admin('GET', 'policies')).status).toBe(200)
      } finally {
        for (const socket of strangers) socket.destroy()
      }
    },
  )

  it.each([
    ['short', 17],
    ['long', LIMITS.BODY_BYTES],
  ])('an agent with incomplete %s bodies blocks no other agent', async (_, length) => {
    const head = `Host: x\r\nAuthorization: Bearer ${bot.key}\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: ${length}`
    const text = `POST /api/agent/tasks/slow/requests HTTP/1.1\r\n${head}\r\n\r\n{"tool`
    const other = await world.agent('other')
    const strangers: Socket[] = []
    try {
      // in waves: the gateway ends a connection whose body does not come for ten seconds
      for (let wave = 0; wave < 4; wave++) await open(strangers, 150, text, '100 Continue')
      expect((await other.submit(newTask(), { tool_name: 't' })).status).toBe(200)
      expect((await other.poll({ task_id: 'none' })).status).toBe(404)
    } finally {
      for (const socket of strangers) socket.destroy()
    }
  })

  it('a reviewer with incomplete bodies blocks no administrator', async () => {
    const head = `Host: x\r\nAuthorization: Bearer ${ann.key}\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: 17`
    const text = `POST /api/review/threads/thr_0/votes HTTP/1.1\r\n${head}\r\n\r\n{"deci`
    const ben = await world.reviewer('ben')
    const strangers: Socket[] = []
    try {
      await open(strangers, 150, text, '100 Continue')
      expect((await ben.call('GET', 'me')).status).toBe(200)
      expect((await world.admin('GET', 'policies')).status).toBe(200)
    } finally {
      for (const socket of strangers) socket.destroy()
    }
  })
})

/** Opens connections that send this text, and resolves when the answer to each of them begins so. */
async function open(sockets: Socket[], count: number, text: string, begins: string): Promise<void> {
  const answers = Array.from({ length: count }, () => {
    const socket = connect(Number(new URL(world.url).port), '127.0.0.1', () => socket.write(text))
    sockets.push(socket)
    return new Promise<string>((resolve) => {
      let heard = ''
      socket.on('data', (chunk: Buffer) => {
        heard += chunk.toString('latin1')
        if (begins === '100 Continue' || heard.replace(CONTINUE, '') !== '') resolve(heard)
      })
      socket.on('error', () => socket.destroy())
      socket.on('close', () => resolve(heard))
    })
  })
  for (const answer of await Promise.all(answers)) expect(answer).toContain(`HTTP/1.1 ${begins}`)
}

const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n'
