/*
 * A small load generator: keep-alive connections in a closed loop over raw sockets, far cheaper than the measured
 * server. The generator reads only the status and the end of an answer.
 */
import { connect } from 'node:net'

/** Returns the bytes of one request. */
export function requestBytes(url, { method = 'POST', path, key, body, headers = {} }) {
  const text = body === undefined ? '' : JSON.stringify(body)
  const head = [
    `${method} ${path} HTTP/1.1`,
    `host: ${new URL(url).host}`,
    ...(key === undefined ? [] : [`authorization: Bearer ${key}`]),
    ...(body === undefined
      ? []
      : ['content-type: application/json', `content-length: ${Buffer.byteLength(text)}`]),
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ]
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${text}`)
}

/**
 * Sends the results of `next()` over `connections` connections, until it returns undefined or `seconds` are over.
 * `onBody` receives the body of every answer. `onAnswer` receives the whole answer, its request, its time and its
 * duration. `awake: false` lets this process sleep when another process needs its core.
 */
export async function load(
  url,
  { next, connections = 64, seconds = Infinity, expect = 200, onBody, onAnswer, awake = true },
) {
  const { hostname, port } = new URL(url)
  const run = {
    next,
    expect,
    onBody,
    onAnswer,
    times: [],
    unexpected: new Map(),
    until: performance.now() + seconds * 1000,
  }
  const started = performance.now()
  const rest = awake ? stayAwake() : () => undefined
  await Promise.all(Array.from({ length: connections }, () => drive(connect(Number(port), hostname), run)))
  rest()
  const elapsed = (performance.now() - started) / 1000
  const times = run.times.sort((a, b) => a - b)
  const at = (share) => times[Math.min(times.length - 1, Math.floor(times.length * share))]
  return {
    count: times.length,
    perSecond: times.length / elapsed,
    p50: at(0.5),
    p99: at(0.99),
    unexpected: Object.fromEntries(run.unexpected),
  }
}

/**
 * Keeps this process from sleeping between two answers. A process pays for waking a sleeping process on another core.
 * On a virtual machine, this cost is as high as the cost of Fastify itself. Only the slower server would pay it.
 */
function stayAwake() {
  let awake = true
  const spin = () => awake && setImmediate(spin)
  spin()
  return () => (awake = false)
}

function drive(socket, run) {
  return new Promise((resolve, reject) => {
    let received = ''
    let sentAt = 0
    let bytes
    const send = () => {
      bytes = performance.now() < run.until ? run.next() : undefined
      if (bytes === undefined) return socket.end()
      sentAt = performance.now()
      socket.write(bytes)
    }
    socket.setNoDelay(true)
    socket.on('connect', send)
    socket.on('error', reject)
    socket.on('close', resolve)
    socket.on('data', (chunk) => {
      received += chunk.latin1Slice()
      const head = received.indexOf('\r\n\r\n')
      if (head < 0) return
      const length = lengthOf(received)
      if (received.length < head + 4 + length) return
      finish(run, received, head + 4, { bytes, sentAt })
      received = ''
      send()
    })
  })
}

function lengthOf(answer) {
  const at = answer.indexOf('ontent-length: ') // matches `content-length` and `Content-Length`
  return at < 0 ? 0 : Number.parseInt(answer.slice(at + 15, at + 25), 10)
}

function finish(run, answer, bodyAt, { bytes, sentAt }) {
  const ms = performance.now() - sentAt
  run.times.push(ms)
  const status = Number(answer.slice(9, 12))
  if (status !== run.expect) run.unexpected.set(status, (run.unexpected.get(status) ?? 0) + 1)
  run.onBody?.(answer.slice(bodyAt))
  run.onAnswer?.({ status, answer, body: () => answer.slice(bodyAt), bytes, sentAt, ms })
}
