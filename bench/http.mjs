/*
 * The gateway over HTTP, with durability, compared to a bare Fastify route with the same body schema. Both run on the
 * same core with the same number of keep-alive connections, in alternate rounds. Read the ratios: absolute numbers
 * depend on the machine.
 *
 * npm run build && node bench/http.mjs [seconds per row] [rounds] [connections]
 */
import { ALLOWED, callsOf, repeat } from './calls.mjs'
import { cpuOf, lineOf, median, pinThisProcess, startGateway, startNode } from './gateway.mjs'
import { load } from './load.mjs'
import { fileURLToPath } from 'node:url'

const [seconds = 2, rounds = 5, connections = 64] = process.argv.slice(2).map(Number)

pinThisProcess()
const gateway = await startGateway({ pinned: true })
const bare = startNode([fileURLToPath(new URL('./bare-server.mjs', import.meta.url))], { pinned: true })
const { listening: bareUrl } = JSON.parse(await lineOf(bare, (line) => line.includes('listening')))
const rows = {
  bare: () => repeat(bareUrl, { path: '/tasks/task-1/requests', body: ALLOWED }),
  ...(await callsOf(gateway)),
}

const results = Object.fromEntries(Object.keys(rows).map((name) => [name, []]))
for (let round = 0; round <= rounds; round++) {
  for (const [name, prepare] of Object.entries(rows)) {
    const next = await prepare()
    const [url, pid] = name === 'bare' ? [bareUrl, bare.pid] : [gateway.url, gateway.pid]
    const cpu = cpuOf(pid)
    const result = await load(url, {
      next,
      connections,
      seconds: round === 0 ? 1 : seconds,
    })
    if (Object.keys(result.unexpected).length > 0) console.log(name, 'unexpected answers:', result.unexpected)
    if (round > 0) results[name].push({ ...result, cpu: (cpuOf(pid) - cpu) / result.count })
  }
}

const middle = (name, of) => median(results[name].map(of))
const ratio = (name, of) => median(results[name].map((one, i) => of(one) / of(results.bare[i])))
console.log(
  `\nNode ${process.version}, ${connections} connections, ${rounds} rounds of ${seconds} s, medians; x bare: median of the rounds' ratios`,
)
console.table(
  Object.fromEntries(
    Object.keys(rows).map((name) => [
      name,
      {
        'answers/s': Math.round(middle(name, (one) => one.perSecond)),
        'x bare': +ratio(name, (one) => one.perSecond).toFixed(2),
        'p50 ms': +middle(name, (one) => one.p50).toFixed(2),
        'p99 ms': +middle(name, (one) => one.p99).toFixed(2),
        'p99 x bare': +ratio(name, (one) => one.p99).toFixed(2),
        'cpu x bare': +ratio(name, (one) => one.cpu).toFixed(1),
        'server cpu us': Math.round(middle(name, (one) => one.cpu)),
      },
    ]),
  ),
)
console.log(
  `goals: allow >= 0.5 x bare: ${ratio('allow', (one) => one.perSecond) >= 0.5 ? 'met' : 'NOT MET'}; ` +
    `p99 <= 4 x bare: ${ratio('allow', (one) => one.p99) <= 4 ? 'met' : 'NOT MET'}`,
)
bare.kill()
await gateway.stop()
