import { readFileSync } from 'node:fs'

/** The number of files that this process may have open; `Infinity` where the system does not say. Node raises it. */
export function mostOpenFiles(): number {
  try {
    const [, most] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return most === undefined ? Infinity : Number(most)
  } catch {
    return Infinity
  }
}
