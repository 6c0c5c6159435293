/* Sends a burst of calls from agents at the same moment, each over a new connection. */
import { connect } from 'node:net'

/**
 * Sends `bytes` over `count` new connections simultaneously. Returns the number of answers by status or error, and the
 * median
 * and the longest time of an answer since the start, ms.
 */
export async function burst(url, bytes, count) {
  const { hostname, port } = new URL(url)
  const started = performance.now()
  const all = await Promise.all(
    Array.from({ length: count }, () => once(connect(Number(port), hostname), bytes)),
  )
  const times = all.map(({ at }) => at - started).toSorted((a, b) => a - b)
  const answers = {}
  for (const { answer } of all) answers[answer] = (answers[answer] ?? 0) + 1
  return { count, answers, p50: times[count >> 1], most: times[count - 1] }
}

function once(socket, bytes) {
  return new Promise((resolve) => {
    const end = (answer) => {
      resolve({ answer, at: performance.now() })
      socket.destroy()
    }
    let text = ''
    socket.setNoDelay(true)
    socket.on('connect', () => socket.write(bytes))
    socket.on('data', (chunk) => {
      text += chunk.latin1Slice()
      if (text.includes('\r\n\r\n')) end(text.slice(9, 12))
    })
    socket.on('error', (error) => end(error.code))
    socket.on('close', () => end('closed'))
  })
}
