import { afterEach, expect, it, vi } from 'vitest'
import { startServer } from '../../src/mcp/server-process.ts'

afterEach(() => void vi.useRealTimers())

const node = (script: string, heard: (line: Uint8Array) => void = () => undefined) =>
  startServer([process.execPath, '-e', script], {}, heard)

it('hears whole lines, the last one too, before it says that the server has ended', async () => {
  const lines: string[] = []
  const server = node('process.stdout.write("a\\nü"); process.exitCode = 3', (line) =>
    lines.push(String(line)),
  )
  expect([await server.ended, lines]).toEqual([3, ['a', 'ü']])
})

it('waits for nothing when a server that has ended is stopped', async () => {
  const server = node('')
  await server.ended
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  server.stop()
  expect(vi.getTimerCount()).toBe(0)
})

it('ends a server that heeds neither the end of its input nor SIGTERM', async () => {
  let ready: () => void = () => undefined
  const started = new Promise<void>((resolve) => (ready = resolve))
  const server = node('process.on("SIGTERM", () => {}); setInterval(() => {}, 1000); console.log("up")', () =>
    ready(),
  )
  await started
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  server.stop()
  vi.runAllTimers()
  vi.useRealTimers()
  expect(await server.ended).toBe(1)
})

it('does not start what is not there', async () => {
  await expect(startServer(['./no-such-server'], {}, () => undefined).ended).rejects.toThrow('ENOENT')
})
