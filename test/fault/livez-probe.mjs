import { Agent, get } from 'node:http'
import { workerData } from 'node:worker_threads'

/**
 * Asks /livez again and again in a thread of its own. A ring holds the time of each answer (ms). The number of answers
 * is in front of the ring.
 */
const { url, shared } = workerData
const ring = new Float64Array(shared)
const agent = new Agent({ keepAlive: true, maxSockets: 1 })

function ask() {
  const start = performance.now()
  get(`${url}/livez`, { agent }, (response) => {
    response.resume()
    response.on('end', () => {
      const count = ring[0] ?? 0
      ring[1 + (count % (ring.length - 1))] =
        response.statusCode === 200 ? performance.now() - start : Infinity
      ring[0] = count + 1
      setImmediate(ask)
    })
  }).on('error', () => setImmediate(ask))
}
ask()
