import { readFile } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'

/** Asks /livez all the time, in a thread of its own. */
export interface Probe {
  readonly idleMs: number
  /** Begins now. The returned function resolves with the slowest answer since. */
  begin(): () => Promise<number>
  stop(): Promise<unknown>
}

const RING = 4_096

export async function startProbe(url: string): Promise<Probe> {
  const shared = new SharedArrayBuffer(8 * (RING + 1))
  const ring = new Float64Array(shared)
  const worker = new Worker(new URL('livez-probe.mjs', import.meta.url), { workerData: { url, shared } })
  const count = (): number => ring[0] ?? 0
  const after = async (wanted: number): Promise<void> => {
    while (count() < wanted) await pause(1)
  }
  const since = (from: number): number[] =>
    Array.from({ length: Math.min(count() - from, RING) }, (_, i) => ring[1 + ((from + i) % RING)] ?? 0)
  // the first ones wait for compilers
  await after(1_000)
  const from = count()
  await after(from + 500)
  const idle = since(from).toSorted((a, b) => a - b)
  return {
    idleMs: idle[Math.floor(idle.length / 2)] ?? 0,
    begin: () => {
      const start = count()
      return async () => {
        // one that was asked for while the request was under way may still wait
        await after(count() + 2)
        return Math.max(...since(start))
      }
    },
    stop: () => worker.terminate(),
  }
}

/** Processor time of the thread that answers all requests, ms. */
export async function mainMsOf(pid: number | undefined): Promise<number> {
  return Number((await readFile(`/proc/${pid}/task/${pid}/schedstat`, 'utf8')).split(' ')[0]) / 1e6
}
