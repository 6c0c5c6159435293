/*
 * Load in an open loop: each request is sent when it is due, even while earlier requests wait for their answers. Times
 * start when the request is due, to include the wait for a free connection (coordinated omission).
 */
import { connect } from 'node:net'

/**
 * Sends `bytes` `perSecond` times a second for `seconds`. `onAnswer` receives the status, the answer, ms since the
 * request was due, and ms since it was sent. A long first time with a short second time means that the load generator
 * is too slow. The generator keeps connections open, and opens as many as it needs, up to `connections`. An answer may
 * ask to close its connection.
 */
export async function openLoad(url, { bytes, perSecond, seconds, connections = 2_048, onAnswer }) {
  const { hostname, port } = new URL(url)
  const place = { hostname, port: Number(port), connections }
  const run = { ...place, bytes, onAnswer, free: [], sent: 0, open: 0, broken: 0 }
  for (let i = 0; i < OPEN_BEFORE; i++) open(run)
  while (run.free.length < OPEN_BEFORE) await pause(1)
  const started = performance.now()
  const dueAt = (i) => started + (i / perSecond) * 1_000
  let due = 0
  await new Promise((resolve) => {
    const turn = () => {
      const elapsed = Math.min(performance.now() - started, seconds * 1_000)
      due = Math.floor((elapsed / 1_000) * perSecond)
      while (run.sent < due && send(run, dueAt(run.sent))) run.sent++
      if (elapsed >= seconds * 1_000) resolve()
      else setImmediate(turn)
    }
    turn()
  })
  const elapsed = (performance.now() - started) / 1_000
  const patience = performance.now() + PATIENCE_MS
  while (run.free.length < run.open && performance.now() < patience) await pause(10)
  const { sent, broken, open: opened, free } = run
  for (const socket of free) socket.end()
  return {
    sent,
    perSecond: sent / elapsed,
    neverSent: due - sent,
    unanswered: opened - free.length,
    broken,
    connections: opened,
  }
}

const OPEN_BEFORE = 128
const PATIENCE_MS = 5_000
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/** Sends on a free connection. Returns false if no connection is free, and opens another connection. */
function send(run, dueAt) {
  let socket = run.free.pop()
  while (socket?.destroyed) socket = run.free.pop()
  if (socket === undefined) {
    if (run.open < run.connections) open(run)
    return false
  }
  socket.dueAt = dueAt
  socket.sentAt = performance.now()
  socket.write(run.bytes)
  return true
}

function open(run) {
  run.open += 1
  const socket = connect(run.port, run.hostname)
  socket.received = ''
  socket.setNoDelay(true)
  socket.on('connect', () => run.free.push(socket))
  socket.on('data', (chunk) => read(run, socket, chunk.latin1Slice()))
  socket.on('error', () => undefined)
  socket.on('close', () => {
    run.open -= 1
    if (socket.dueAt !== undefined) run.broken += 1
    const at = run.free.indexOf(socket)
    if (at >= 0) run.free.splice(at, 1)
  })
}

function read(run, socket, text) {
  socket.received += text
  const { received } = socket
  const head = received.indexOf('\r\n\r\n')
  if (head < 0) return
  const at = received.indexOf('ontent-length: ')
  const length = at < 0 ? 0 : Number.parseInt(received.slice(at + 15, at + 25), 10)
  if (received.length < head + 4 + length) return
  const now = performance.now()
  run.onAnswer(Number(received.slice(9, 12)), received, now - socket.dueAt, now - socket.sentAt)
  socket.received = ''
  socket.dueAt = undefined
  run.free.push(socket)
}
