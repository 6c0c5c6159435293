import { type Made, recordTries } from '../gateway/webhooks/delivery-attempts.ts'
import type { Deps } from '../gateway/core/deps.ts'

type State = Awaited<ReturnType<typeof recordTries>>[number]

/** Writes down how tries ended: those of a moment together, because each commit stands in line with those of the decisions. */
export interface Outcomes {
  /**
   * What became of the delivery, once that is durable; undefined when it was settled already.
   *
   * @param units how long the delivery is, in characters: its record is written anew
   */
  record(tenant: string, made: Made, units: number): Promise<State>
}

const GATHER_MS = 50
const TOGETHER = 100
/** Of all deliveries of one commit: it takes 16 Mi with all that stands in its records, and holds up others while it is made. */
const UNITS_TOGETHER = 1024 * 1024

interface Batch {
  readonly made: Made[]
  units: number
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
    const batch = { made, units: 0, written }
    open.set(tenant, batch)
    return batch
  }

  return {
    async record(tenant, made, units) {
      const known = open.get(tenant)
      const isFull =
        known === undefined || known.made.length >= TOGETHER || known.units + units > UNITS_TOGETHER
      const batch = isFull ? begin(tenant) : known
      batch.units += units
      const position = batch.made.push(made) - 1
      return (await batch.written)[position]
    },
  }
}
