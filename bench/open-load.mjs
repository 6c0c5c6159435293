/*
 * Load in an open loop: requests are sent when they are due, whatever became of those before. Times count from when a request was due, so that a client that
 * waits for a free connection does not hide it (coordinated omission).
 */
import { connect } from 'node:net'

/**
 * Sends `bytes` `perSecond` times a second for `seconds`. `onAnswer` is handed the status, what was answered, and ms since it was due.
 * Connections are kept; as many are opened as are needed, up to `connections`. Answers that ask for it end their connection.
 */
export async function openLoad(url, { bytes, perSecond, seconds, connections = 1_024, onAnswer }) {
  const { hostname, port } = new URL(url)
  const run = {
    hostname,
    port: Number(port),
    bytes,
    onAnswer,
    free: [],
    due: [],
    open: 0,
    connections,
    broken: 0,
  }
  const started = performance.now()
  let sent = 0
  await new Promise((resolve) => {
    const turn = () => {
      const elapsed = performance.now() - started
      const target = Math.floor((Math.min(elapsed, seconds * 1_000) / 1_000) * perSecond)
      for (; sent < target; sent++) run.due.push(started + (sent / perSecond) * 1_000)
      dispatch(run)
      if (elapsed >= seconds * 1_000) resolve()
      else setImmediate(turn)
    }
    turn()
  })
  const elapsed = (performance.now() - started) / 1_000
  const late = run.due.length
  run.due.length = 0
  const patience = performance.now() + 5_000
  while (run.free.length < run.open && performance.now() < patience) {
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  const unanswered = run.open - run.free.length
  for (const socket of run.free) socket.end()
  return {
    sent: sent - late,
    perSecond: (sent - late) / elapsed,
    neverSent: late,
    unanswered,
    broken: run.broken,
    connections: run.open,
  }
}

function dispatch(run) {
  while (run.due.length > 0) {
    const socket = run.free.pop()
    if (socket === undefined) {
      if (run.open >= run.connections) return
      open(run)
      return
    }
    if (socket.destroyed) continue
    socket.dueAt = run.due.shift()
    socket.write(run.bytes)
  }
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
  run.onAnswer(Number(received.slice(9, 12)), received, performance.now() - socket.dueAt)
  socket.received = ''
  socket.dueAt = undefined
  run.free.push(socket)
}
