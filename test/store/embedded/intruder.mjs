/*
 * Another process that opens the data file behind the store's back. Usage: node intruder.mjs <file> hold|write
 * `hold`: keeps LMDB's write lock until the next line of input, then ends without a change. `write`: changes the stamp.
 */
import { readSync } from 'node:fs'
import { open } from 'lmdb'

const [file, what] = process.argv.slice(2)
const db = open({
  path: file,
  noSubdir: true,
  maxDbs: 1,
  overlappingSync: false,
  encoding: 'string',
  keyEncoding: 'binary',
  useVersions: true,
})
const stamp = Buffer.from('z')
if (what === 'write') {
  const { value, version } = db.getEntry(stamp)
  await db.put(stamp, value, version + 1)
  console.log('written')
} else {
  db.transactionSync(() => {
    console.log('held')
    readSync(0, Buffer.alloc(1))
  })
}
await db.close()
