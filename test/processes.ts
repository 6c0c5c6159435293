import { readdirSync, readFileSync } from 'node:fs'

export interface Process {
  readonly id: number
  readonly parent: number
  readonly state: string
  /** The function of the kernel in which it waits; 0 while it does not wait, or when the kernel hides it. */
  readonly waitsIn: string
  readonly seconds: number
  readonly command: string
}

/** Descendants of a process, parents first. Empty where there is no /proc. */
export function descendants(top: number): readonly Process[] {
  const all = processes()
  const found: Process[] = []
  const left = [top]
  for (let id = left.shift(); id !== undefined; id = left.shift()) {
    const below = all.filter(({ parent }) => parent === id)
    found.push(...below)
    left.push(...below.map((one) => one.id))
  }
  return found
}

/**
 * Reads proc(5). The fields after the last parenthesis of `stat` begin with the state and the parent. The eleventh
 * and twelfth fields after the state are times in hundredths of a second.
 */
export function processes(): readonly Process[] {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .flatMap((name) => {
        try {
          const fields = (readFileSync(`/proc/${name}/stat`, 'utf8').split(') ').at(-1) ?? '').split(' ')
          const [state = '', parent] = fields
          const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()
          const seconds = (Number(fields[11]) + Number(fields[12])) / 100
          const waitsIn = readFileSync(`/proc/${name}/wchan`, 'utf8')
          return [{ id: Number(name), parent: Number(parent), state, waitsIn, seconds, command }]
        } catch {
          return [] // gone meanwhile
        }
      })
  } catch {
    return []
  }
}

export function signalled(id: number, signal: NodeJS.Signals): void {
  try {
    process.kill(id, signal)
  } catch {
    // gone meanwhile
  }
}

/** True while a process of this id runs. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
