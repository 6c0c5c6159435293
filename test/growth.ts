import { readFileSync } from 'node:fs'

/** Too little to be told from what a collection takes, ms. */
const LEAST_MS = 4
const TRIES = 3
const MOST_TRIES = 20

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
 * How many times as much `work` takes for four times its size: about 4 when it is linear, 16 when it is quadratic. Of the least of some tries, because collections,
 * compilers and neighbours of the processor's caches only add; of more of them where that looks like too much.
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

/** Between what is linear and what is quadratic. */
export const LINEAR = 8
