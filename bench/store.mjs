/*
 * The cost of a durable commit on the embedded store, compared to a store with one LMDB transaction for each commit.
 *
 * npm run build && node bench/store.mjs [seconds per row] [callers] [rounds]
 *
 * Every caller starts its next commit when its last commit is durable (closed loop). `cpu main` is the processor time
 * of the main thread per commit, including the caller's own time (Linux only). `cpu all` is the processor time of all
 * threads.
 */
import { randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay, performance } from 'node:perf_hooks'
import { open } from 'lmdb'
import { openEmbeddedStore } from '../dist/store/embedded/store.js'

const [seconds = 3, callers = 64, rounds = 3] = process.argv.slice(2).map(Number)

const event = JSON.stringify({
  kind: 'decision',
  thread_id: 'thr_01JDABCDEFGHJKMNPQRSTVWXYZ',
  verdict: 'allow',
  rules: ['payments.small', 'payments.known-vendor'],
  bundle: 'sha256:4f1c0d5a',
  filler: 'x'.repeat(330),
})
const record = JSON.stringify({ status: 'pending_review', payload: 'y'.repeat(980) })
let next = 0

const workloads = {
  'evidence only (1 guard, 1 event of 500 B)': (now) => ({
    commitId: `c${next++}`,
    deadline: now + 10_000,
    guards: [{ type: 'key', id: 'hot', revision: 1 }],
    writes: [],
    events: [event],
  }),
  'create thread (2 puts of 1 KB, 4 index entries, 1 event)': (now) => {
    const id = `thr_${(next++).toString(36).padStart(26, '0')}`
    return {
      commitId: `c${next}`,
      deadline: now + 10_000,
      guards: [
        { type: 'key', id: 'hot', revision: 1 },
        { type: 'thread', id, revision: 0 },
      ],
      writes: [
        { op: 'put', type: 'thread', id, body: record },
        { op: 'put', type: 'revision', id: `${id}:1`, body: record },
        { op: 'index', index: 'pending', member: id, to: now },
        { op: 'index', index: 'due', member: id, to: now + 3_600_000 },
        { op: 'index', index: 'task:t1', member: id, to: now },
        { op: 'index', index: 'outbox', member: id, to: now },
      ],
      events: [event],
    }
  },
}

/** The simplest correct store: one child transaction for each commit. LMDB groups them. */
function openNaive(path) {
  const db = open({ path: join(path, 'naive.mdb'), overlappingSync: false, maxDbs: 1 })
  const apply = (partition, { commitId, deadline, guards, writes, events }) => {
    if (Date.now() > deadline) return { ok: false, reason: 'late' }
    for (const guard of guards)
      if ((db.get(['r', partition, guard.type, guard.id])?.v ?? 0) !== guard.revision) return { ok: false }
    for (const write of writes) {
      if (write.op === 'index') {
        void db.put(['i', partition, write.index, write.to, write.member], 1)
      } else {
        const key = ['r', partition, write.type, write.id]
        void db.put(key, { v: (db.get(key)?.v ?? 0) + 1, b: write.body, c: commitId })
      }
    }
    let number = db.get(['s', partition]) ?? 0
    for (const body of events) void db.put(['e', partition, ++number], { b: body, c: commitId })
    void db.put(['s', partition], number)
    return { ok: true }
  }
  return {
    now: () => Date.now(),
    commit: (partition, commit) => db.childTransaction(() => apply(partition, commit)),
    close: () => db.close(),
  }
}

/** Returns the processor time of the main thread, whose id is the process id. Returns NaN on kernels without this
 * value. */
function mainThreadMicroseconds() {
  try {
    return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[0]) / 1000
  } catch {
    return Number.NaN
  }
}

async function measure(store, make) {
  const until = performance.now() + seconds * 1000
  const times = []
  const delay = monitorEventLoopDelay({ resolution: 1 })
  const cpu = process.cpuUsage()
  const main = mainThreadMicroseconds()
  const started = performance.now()
  delay.enable()
  const caller = async () => {
    while (performance.now() < until) {
      const start = performance.now()
      const result = await store.commit('acme', make(store.now()))
      if (!result.ok) throw new Error(JSON.stringify(result))
      times.push(performance.now() - start)
    }
  }
  await Promise.all(Array.from({ length: callers }, caller))
  delay.disable()
  const elapsed = performance.now() - started
  const { user, system } = process.cpuUsage(cpu)
  const mainUsed = mainThreadMicroseconds() - main
  times.sort((a, b) => a - b)
  return {
    'commits/s': Math.round((times.length / elapsed) * 1000),
    'cpu main us': +(mainUsed / times.length).toFixed(1),
    'cpu all us': +((user + system) / times.length).toFixed(1),
    'p50 ms': +times[Math.floor(times.length * 0.5)].toFixed(2),
    'p99 ms': +times[Math.floor(times.length * 0.99)].toFixed(2),
    'loop p99 ms': +(delay.percentile(99) / 1e6).toFixed(2),
  }
}

const opening = {
  countersign: (path) => openEmbeddedStore({ path }),
  'one transaction per commit': openNaive,
}
const rows = {}
for (let round = 1; round <= rounds; round++) {
  for (const [workload, make] of Object.entries(workloads)) {
    for (const [name, openStore] of Object.entries(opening)) {
      const path = mkdtempSync(join(tmpdir(), 'countersign-bench-'))
      const store = await openStore(path)
      await store.commit('acme', {
        commitId: randomUUID(),
        deadline: store.now() + 10_000,
        guards: [],
        writes: [{ op: 'put', type: 'key', id: 'hot', body: '{}' }],
        events: [],
      })
      rows[`${round} ${workload}: ${name}`] = await measure(store, make)
      await store.close()
      rmSync(path, { recursive: true, force: true })
    }
  }
}
console.log(`Node ${process.version}, ${callers} callers, ${seconds} s per row`)
console.table(rows)
