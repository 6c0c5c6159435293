/*
 * A process to be killed: 32 callers commit without end, and print each durable commit as
 * `ack <commit id> <event number>`.
 *
 *     node writer.mjs DIRECTORY TAG [BYTES_OF_A_FILLER_FILE]
 *
 * When it cannot write, it prints the errors and its health. At the next line of input it removes the filler and
 * continues.
 */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { openEmbeddedStore } from '../../../dist/store/embedded/store.js'

const [path, tag, filler] = process.argv.slice(2)
const recovers = filler !== undefined
if (recovers) writeFileSync(join(path, 'filler'), Buffer.alloc(Number(filler), 1))
const store = await openEmbeddedStore({ path, minFreeBytes: 0 })
console.log(`open ${store.now()}`)

let resume = () => {}
createInterface({ input: process.stdin }).on('line', () => resume())

const counts = Array.from({ length: 32 }, () => 0)

async function caller(name) {
  for (;;) {
    const count = ++counts[name]
    const id = `${tag}.${name}.${count}`
    const result = await store.commit('t', {
      commitId: id,
      deadline: store.now() + 10_000,
      guards: [{ type: 'token', id, revision: 0 }],
      writes: [
        { op: 'put', type: 'token', id, body: 'used' },
        { op: 'put', type: 'caller', id: `${tag}.${name}`, body: `${count}` },
        { op: 'index', index: 'due', member: `${tag}.${name}`, to: count },
      ],
      events: [`${id} ${'x'.repeat(300)}`],
    })
    console.log(`ack ${id} ${result.numbers[0]}`)
  }
}

for (;;) {
  const ends = await Promise.allSettled(counts.map((_, name) => caller(name)))
  const { ready, reason } = await store.health()
  for (const { reason: error } of ends) console.log(`error ${error.name}: ${error.message}`)
  console.log(`health ${ready} ${reason}`)
  await new Promise((resolve) => (resume = resolve))
  rmSync(join(path, 'filler'), { force: true })
  while (!(await store.health()).ready && recovers) await new Promise((resolve) => setTimeout(resolve, 10))
}
