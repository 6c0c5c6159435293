import { readFileSync } from 'node:fs'

/** The unit of /proc in ms, which is fixed on Linux. */
const TICK_MS = 10

/** The processor time that a process has used, ms. Undefined except on Linux. */
export function processorTimeOf(pid: number): number | undefined {
  try {
    // the name of the program, in brackets, may contain blanks
    const fields = readFileSync(`/proc/${pid}/stat`, 'latin1')
      .replace(/^.*\) /s, '')
      .split(' ')
    const [user, system] = fields.slice(11, 13).map(Number)
    return ((user ?? Number.NaN) + (system ?? Number.NaN)) * TICK_MS
  } catch {
    return undefined
  }
}
