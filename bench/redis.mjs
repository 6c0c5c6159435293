/*
 * The gateway on Redis, in four parts:
 *
 * - `stores`: beside the embedded store, and with a replica that confirms
 * - `two`: two gateways beside one
 * - `threads`: memory and polls with many waiting threads
 * - `faults`: the answers while Redis is killed or frozen
 *
 * The benchmark starts its own redis-server processes on free ports. Read the ratios.
 *
 *   npm run build && node bench/redis.mjs [--only stores,two,threads,faults] [--seconds 2] [--rounds 3]
 *     [--connections 64] [--threads 10000] [--deadline 500] (Linux; redis-server 7.0 or later)
 */
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { pinThisProcess } from './gateway.mjs'
import { measureFaults } from './redis-faults.mjs'
import { measureStores, measureTwo } from './redis-http.mjs'
import { redisVersion } from './redis-server.mjs'
import { measureThreads } from './redis-threads.mjs'

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: 'stores,two,threads,faults' },
    seconds: { type: 'string', default: '2' },
    rounds: { type: 'string', default: '3' },
    connections: { type: 'string', default: '64' },
    threads: { type: 'string', default: '10000' },
    deadline: { type: 'string', default: '500' },
  },
})
const [seconds, rounds, connections] = [values.seconds, values.rounds, values.connections].map(Number)
const cores = availableParallelism()
const parts = values.only.split(',')
console.log(
  `Node ${process.version}, Redis ${redisVersion()}, ${cores} cores, ${connections} connections, ${rounds} rounds of ${seconds} s, medians`,
)
if (parts.includes('two')) {
  await measureTwo({ seconds, rounds, connections, cores })
}
if (parts.includes('threads')) {
  await measureThreads({ threads: Number(values.threads), rounds })
}
if (parts.includes('faults')) {
  await measureFaults({ deadline: Number(values.deadline), connections })
}
if (parts.includes('stores')) {
  pinThisProcess() // pins Redis too; this part is last, because the pin stays
  await measureStores({ seconds, rounds, connections, pinned: true })
}
