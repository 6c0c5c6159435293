/*
 * A process that reads a store while another process uses it. It prints `open`. At the next line of input, it prints
 * the numbers of all events in partition `t`.
 *
 *     node reader.mjs DIRECTORY
 */
import { createInterface } from 'node:readline'
import { openEmbeddedArchive } from '../../../dist/store/embedded/archive.js'

const archive = await openEmbeddedArchive({ path: process.argv[2] })
console.log('open')
for await (const _ of createInterface({ input: process.stdin })) break
const numbers = []
for await (const entry of archive.dump('t')) if (entry.kind === 'event') numbers.push(entry.number)
console.log(`events ${numbers.join()}`)
await archive.close()
process.exit(0)
