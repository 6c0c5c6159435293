/*
 * A process to be killed: it adds records, signs them, publishes their tiles, and removes published ones from the
 * store. It prints each change of a file or removal before and after it, and waits for its end at the change with a
 * number.
 *
 *     node writer.mjs DIRECTORY ROUND RECORDS LAST_CHANGE
 */
import { join } from 'node:path'
import { signingKeyOf } from '../../dist/domain/checkpoint.js'
import { makeCheckpoint } from '../../dist/gateway/jobs/checkpoints.js'
import { publishTiles } from '../../dist/gateway/jobs/publish-tiles.js'
import { removePublished } from '../../dist/gateway/jobs/remove-published.js'
import { overriding } from '../../dist/store/store.js'
import { openEmbeddedStore } from '../../dist/store/embedded/store.js'
import { directoryPlace } from '../../dist/tiles/directory/directory-place.js'

const [directory, ...numbers] = process.argv.slice(2)
const [round, records, last] = numbers.map(Number)
const TENANT = 'acme'
/** Each process starts after the lease of the one before it. */
const now = () => Date.now() + round * 600_000
const opened = await openEmbeddedStore({
  path: join(directory, 'data'),
  minFreeBytes: 0,
  clock: { wall: now, monotonic: now },
})
const store = overriding(opened, {
  async commit(partition, commit) {
    const isRemoval = commit.writes.some(({ op }) => op === 'trim')
    if (isRemoval) await reach('before trim', partition)
    const result = await opened.commit(partition, commit)
    if (isRemoval) await reach('after trim', partition)
    return result
  },
})
let ids = 0
const deps = {
  store,
  nextId: () => `${round}.${ids++}`,
  nextCommitId: () => `${round}-${ids++}`,
  storeDeadlineMs: 5_000,
  observe: () => {},
  policies: { current: () => ({ retention: { log_in_store_ms: 0, tasks_ms: 0 } }) },
  enqueue: async () => ({ guards: [], writes: [] }),
}
const identity = { name: 'lab', key: signingKeyOf(Buffer.alloc(32, 1)) }
const own = directoryPlace(join(directory, 'tiles', TENANT))

let changes = 0
async function reach(what, path) {
  changes += 1
  console.log(`change ${changes} ${what} ${path}`)
  if (changes === last) await new Promise(() => setInterval(() => {}, 60_000))
}

const around = (name) =>
  async function change(path, ...rest) {
    await reach(`before ${name}`, path)
    const answer = await own[name](path, ...rest)
    await reach(`after ${name}`, path)
    return answer
  }
const place = {
  name: own.name,
  read: (path) => own.read(path),
  list: (folder) => own.list(folder),
  create: around('create'),
  replace: around('replace'),
  remove: around('remove'),
}
const tiles = { identity, address: 'tiles', placeOf: () => place }

const at = new Date(now()).toISOString()
const events = Array.from({ length: records }, (_, i) => JSON.stringify({ at, round, i }))
await store.commit(TENANT, {
  commitId: `round-${round}`,
  deadline: now() + 10_000,
  guards: [],
  writes: [],
  events,
})
const { size } = await makeCheckpoint(deps, identity, TENANT)
console.log(`signed ${size}`)
await publishTiles(deps, tiles, TENANT, new AbortController().signal)
while (await removePublished(deps, tiles, TENANT));
await store.close()
console.log(`published ${size}`)
