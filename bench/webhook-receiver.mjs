/*
 * A process of webhooks.mjs with two receivers: one answers immediately, and the other never answers. Its argument is a
 * directory with a key and a certificate.
 */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { constants, setPriority } from 'node:os'
import { join } from 'node:path'

// The receiver shares a core with the load generator, and must not slow it down.
setPriority(constants.priority.PRIORITY_LOW)
const directory = process.argv[2]
const options = {
  key: readFileSync(join(directory, 'key.pem')),
  cert: readFileSync(join(directory, 'cert.pem')),
}
const late = []
let received = 0
const fast = createServer(options, (request, response) => {
  const chunks = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => {
    received += 1
    late.push(Date.now() - Date.parse(JSON.parse(Buffer.concat(chunks)).timestamp))
    response.end()
  })
})
const hanging = createServer(options, () => undefined)
for (const server of [fast, hanging]) await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
console.log(JSON.stringify({ fast: fast.address().port, hanging: hanging.address().port }))
process.on('message', () => {
  process.send({ received, late: late.splice(0) })
  received = 0
})
