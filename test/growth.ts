import { readFileSync } from 'node:fs'

/** Too little to be told from what a collection takes, ms. */
const LEAST_MS = 4
const TRIES = 3

/** Processor time of this process, ms: what else the machine does is not in it. */
export function cpuMs(work: () => unknown): number {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

/** Processor time that this very thread has had, ms (Linux, proc(5)): neither helpers of its process nor what the machine did meanwhile is in it. */
export function threadMs(): number {
  const [nanoseconds] = readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ')
  return Number(nanoseconds) / 1e6
}

/**
 * How many times as much `work` takes for four times its size: about 4 when it is linear, 16 when it is quadratic. The least of some tries, because collections and
 * compilers only add.
 *
 * @param size to begin with; grows until the work can be measured
 */
export function growth(work: (size: number) => unknown, size: number): number {
  const least = (of: number): number =>
    Math.min(...Array.from({ length: TRIES }, () => cpuMs(() => work(of))))
  while (least(size) < LEAST_MS) size *= 2
  return least(4 * size) / least(size)
}

/** Between what is linear and what is quadratic. */
export const LINEAR = 8
