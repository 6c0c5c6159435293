import { connect } from 'node:net'
import { workerData } from 'node:worker_threads'

/*
 * A crowd on connections, in a thread of its own. Each connection begins with a string. A connection that ends is
 * opened again. The thread counts the connections that have ended and the answers.
 */
const { port, count, text, shared } = workerData
const seen = new Int32Array(shared)
/** Between two connections of the crowd. Without it, the crowd would take the processor time that the gateway needs. */
const EACH_MS = 2

function open() {
  const socket = connect(port, '127.0.0.1')
  socket.on('connect', () => socket.write(text))
  socket.on('data', () => Atomics.add(seen, 0, 1))
  socket.on('error', () => undefined)
  socket.on('close', () => {
    Atomics.add(seen, 1, 1)
    setTimeout(open, EACH_MS * count)
  })
}
for (let i = 0; i < count; i++) setTimeout(open, EACH_MS * i)
