import { PassThrough } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { afterEach, expect, it, vi } from 'vitest'
import { room, startServer } from '../../src/mcp/server-process.ts'
import { until } from '../until.ts'
import { isAlive } from '../processes.ts'

afterEach(() => void vi.useRealTimers())

const node = (script: string, heard: (line: Uint8Array) => Promise<void> | void = () => undefined) =>
  startServer([process.execPath, '-e', script], {}, heard)

it('delivers whole lines, including the last one, before it reports the end of the server', async () => {
  const lines: string[] = []
  const server = node(
    'process.stdout.write("a\\nü"); process.exitCode = 3',
    (line) => void lines.push(String(line)),
  )
  expect([await server.ended, lines]).toEqual([3, ['a', 'ü']])
})

it('delivers the next line only after the last one was handled', async () => {
  const log: string[] = []
  const server = node('process.stdout.write("a\\nb\\n")', async (line) => {
    log.push(`${String(line)} begins`)
    await setImmediate()
    log.push(`${String(line)} ends`)
  })
  await server.ended
  expect(log).toEqual(['a begins', 'a ends', 'b begins', 'b ends'])
})

it('waits for room until a reader reads, the stream breaks, or the reader leaves', async () => {
  const left = new AbortController()
  const stream = new PassThrough({ highWaterMark: 1 })
  stream.on('error', () => undefined)
  await room(stream, left.signal)
  const waiting = async (end: () => void): Promise<boolean> => {
    stream.write('much')
    let over = false
    const done = room(stream, left.signal).then(() => (over = true))
    await setImmediate()
    const waited = !over
    end()
    await done
    return waited
  }
  expect(await waiting(() => void stream.resume())).toBe(true)
  stream.pause()
  expect(await waiting(() => left.abort())).toBe(true)
  const broken = new PassThrough({ highWaterMark: 1 })
  broken.on('error', () => undefined).write('much')
  const done = room(broken, new AbortController().signal)
  broken.destroy(new Error('EPIPE'))
  await done
})

it('does not wait when it stops a server that has already ended', async () => {
  const server = node('')
  await server.ended
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  server.stop()
  expect(vi.getTimerCount()).toBe(0)
})

it('ends a server that ignores both the end of its input and SIGTERM', async () => {
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

it.each([
  ['reads', ''],
  ['says', 'require("node:fs").closeSync(1);'],
])('ends a server that %s no more, because its requests would never be answered', async (_, more) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const script = `${more} require("node:fs").closeSync(0); process.on("SIGTERM", () => {}); setInterval(() => {}, 1000)`
  const server = node(script)
  let ended = false
  void server.ended.then(() => (ended = true))
  while (!ended) {
    if (more === '') server.write(Buffer.from('is anybody there?\n'))
    // whatever patience it is given runs out
    vi.advanceTimersByTime(60_000)
    await setImmediate()
  }
  expect(await server.ended).toBe(1)
})

/** A shell that has ended, and its child, which ignores SIGTERM: as behind npx. */
const ORPHAN = `'${process.execPath}' -e '
  process.on("SIGTERM", () => {})
  const end = () => process.ppid === +process.argv[1] ? setTimeout(end, 10) : console.log(process.pid)
  end(); setInterval(() => {}, 1000)' $$ & exit 0`

it('ends a child that the server left behind, and that ignores SIGTERM', async () => {
  let said: (line: string) => void = () => undefined
  const pid = new Promise<string>((resolve) => (said = resolve))
  const server = startServer(['/bin/sh', '-c', ORPHAN], {}, (line) => said(String(line)))
  const left = Number(await pid)
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  server.stop()
  vi.runAllTimers()
  vi.useRealTimers()
  expect(await server.ended).toBe(0)
  await until(() => !isAlive(left))
})

it('fails to start a missing program', async () => {
  await expect(startServer(['./no-such-server'], {}, () => undefined).ended).rejects.toThrow('ENOENT')
})
