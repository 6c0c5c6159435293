import { readdirSync, readFileSync } from 'node:fs'

/** The nice value of each thread of a process, on Linux: field 19 of its stat. */
export function priorities(pid: number): readonly number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((thread) => {
    try {
      return [Number(readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8').split(') ')[1]?.split(' ')[16])]
    } catch {
      return [] // it has ended
    }
  })
}
