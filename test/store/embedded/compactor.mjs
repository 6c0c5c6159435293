/*
 * A process that kills itself while it compacts a store, at one call of the file system:
 *
 *     node compactor.mjs DIRECTORY CALL before|after
 *
 * CALL counts the calls of compact.ts that change the disk, from 1. `copy` instead of a number kills the process while
 * LMDB writes the copy. Without a CALL, the process prints the number of calls.
 */
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'

const [path, at, when] = process.argv.slice(2)
const die = () => process.kill(process.pid, 'SIGKILL')
let calls = 0
for (const name of ['mkdirSync', 'chmodSync', 'fsyncSync', 'renameSync', 'rmSync']) {
  const original = fs[name]
  fs[name] = (...args) => {
    calls += 1
    const isHere = String(calls) === at
    if (isHere && when === 'before') die()
    const result = original(...args)
    if (isHere && when === 'after') die()
    return result
  }
}
syncBuiltinESMExports()

const { compactEmbedded } = await import('../../../dist/store/embedded/compact.js')
const isCopying = () =>
  fs
    .readdirSync(path)
    .filter((name) => name.startsWith('compact.'))
    .some((name) => (fs.statSync(join(path, name, 'store.mdb'), { throwIfNoEntry: false })?.size ?? 0) > 0)
const look = () => (isCopying() ? die() : setImmediate(look))
if (at === 'copy') look()
await compactEmbedded({ path })
console.log(`calls ${calls}`)
