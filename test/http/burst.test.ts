import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { expect, it } from 'vitest'
import { fileWorld, world } from '../agent-world.ts'
import { exchange } from './socket.ts'

/** More than the 511 connections that Node lets wait by itself. */
const AT_ONCE = 700

const BODY = '{"tool_name":"t"}'

/** Linux, with room for them: the system caps the queue of every listener. */
const HAS_ROOM =
  process.platform === 'linux' && Number(readFileSync('/proc/sys/net/core/somaxconn', 'utf8')) > AT_ONCE

fileWorld()

it.runIf(HAS_ROOM)(
  'no connection of a burst of hundreds is dropped: a dropped one would wait for seconds',
  async () => {
    const { hostname, port } = new URL(world.app.url)
    const before = turnedAway()
    // all of them before the gateway has its next turn: it is this process
    const sockets = Array.from({ length: AT_ONCE }, (): Socket => connect(Number(port), hostname))
    await Promise.all(sockets.map((socket) => once(socket, 'connect')))
    expect(turnedAway() - before).toBe(0)
    for (const socket of sockets) socket.destroy()
  },
)

it('500 agents that call at once over new connections are all served', async () => {
  const agent = await world.agent()
  const answers = await Promise.all(
    Array.from({ length: 500 }, (_, i) =>
      exchange(world.url, [
        `POST /api/agent/tasks/burst-${i}/requests HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${agent.key}\r\n`,
        `Content-Type: application/json\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`,
      ]),
    ),
  )
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
  const recorded = await world.allEvidence()
  expect(new Set(recorded.flatMap(({ record }) => record.task_id ?? []))).toHaveProperty('size', 500)
})

/**
 * Connections that found no room in the queue of their listener, since the system started (`ListenOverflows` of
 * proc(5)).
 */
function turnedAway(): number {
  const [names = [], values = []] = readFileSync('/proc/net/netstat', 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('TcpExt:'))
    .map((line) => line.split(' '))
  return Number(values[names.indexOf('ListenOverflows')])
}
