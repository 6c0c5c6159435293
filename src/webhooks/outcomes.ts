import { type Made, recordTries } from '../gateway/attempt.ts'
import type { Deps } from '../gateway/deps.ts'

type State = Awaited<ReturnType<typeof recordTries>>[number]

/** Writes down how tries ended: those of a moment together, because each commit stands in line with those of the decisions. */
export interface Outcomes {
  /** What became of the delivery, once that is durable; undefined when it was settled already. */
  record(tenant: string, made: Made): Promise<State>
}

const GATHER_MS = 50
const TOGETHER = 100

interface Batch {
  readonly made: Made[]
  readonly written: Promise<readonly State[]>
}

export function createOutcomes(deps: Deps): Outcomes {
  const open = new Map<string, Batch>()

  const begin = (tenant: string): Batch => {
    const made: Made[] = []
    const gathered = new Promise<void>((resolve) => setTimeout(resolve, GATHER_MS))
    const written = gathered.then(() => {
      if (open.get(tenant) === batch) open.delete(tenant)
      return recordTries(deps, tenant, made)
    })
    const batch = { made, written }
    open.set(tenant, batch)
    return batch
  }

  return {
    async record(tenant, made) {
      const known = open.get(tenant)
      const batch = known === undefined || known.made.length >= TOGETHER ? begin(tenant) : known
      const position = batch.made.push(made) - 1
      return (await batch.written)[position]
    },
  }
}
