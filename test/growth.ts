import { readFileSync } from 'node:fs'

/** Less time is not distinguishable from a garbage collection, ms. */
const LEAST_MS = 4
const TRIES = 3
const MOST_TRIES = 20

/** Processor time of this process, ms, without other work of the machine. */
export function cpuMs(work: () => unknown): number {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

/**
 * Processor time of this very thread, ms (Linux, proc(5)). It counts neither other threads of the process nor other
 * work of the machine.
 */
export function threadMs(): number {
  const [nanoseconds] = readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ')
  return Number(nanoseconds) / 1e6
}

/**
 * Returns how many times as long `work` takes for four times its size: about 4 when it is linear, 16 when it is
 * quadratic. It compares the least of some tries, because garbage collections, compilers and other users of the
 * processor's caches only add time. It tries more often while the result looks too high.
 *
 * @param size to begin with; grows until the work can be measured
 */
export function growth(work: (size: number) => unknown, size: number): number {
  const time = (of: number): number => cpuMs(() => work(of))
  while (Math.min(time(size), time(size), time(size)) < LEAST_MS) size *= 2
  let [once, fourTimes] = [Infinity, Infinity]
  for (let tries = 1; tries <= TRIES || (tries <= MOST_TRIES && fourTimes >= LINEAR * once); tries++) {
    once = Math.min(once, time(size))
    fourTimes = Math.min(fourTimes, time(4 * size))
  }
  return fourTimes / once
}

/** Between the results for linear and for quadratic work. */
export const LINEAR = 8
