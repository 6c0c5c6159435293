import { isObject, type JsonObject, type JsonValue } from '../contract/json.ts'
import { FILE_RECORDS } from './export-line.ts'

/** Records that are lost, and the record by which an administrator accepted that. */
export interface AcceptedLoss {
  readonly from: number
  readonly to: number
  readonly at: string
  readonly by: string
  readonly reason: string
}

/** Requires a later record `log.lost`, with the same hash, for each record file that is missing. */
export class LossCheck {
  /** Hashes of missing record files that no record explains yet, by their first number. */
  readonly #missing = new Map<number, string>()
  readonly #accepted: AcceptedLoss[] = []

  /** Notes a missing record file. */
  add(from: number, root: string): void {
    this.#missing.set(from, root)
  }

  /** Reads the record with this number. */
  take(number: number, { type, details, at, actor }: JsonObject): void {
    if (type !== 'log.lost' || !isObject(details) || !Array.isArray(details['roots'])) return
    const first = Number(details['from'])
    const by = textOf(isObject(actor) ? actor['id'] : undefined)
    for (const [i, root] of details['roots'].entries()) {
      const from = first + i * FILE_RECORDS
      if (from >= number || this.#missing.get(from) !== root) continue
      this.#missing.delete(from)
      const last = this.#accepted.at(-1)
      const one = { from, to: from + FILE_RECORDS - 1, at: textOf(at), by, reason: textOf(details['reason']) }
      const continues = last?.to === from - 1 && last.reason === one.reason
      if (continues) this.#accepted[this.#accepted.length - 1] = { ...last, to: one.to }
      else this.#accepted.push(one)
    }
  }

  accepted(): readonly AcceptedLoss[] {
    return this.#accepted
  }

  faults(): string[] {
    return [...this.#missing.keys()].map(
      (from) =>
        `records ${from} to ${from + FILE_RECORDS - 1} are missing, and no record says that they are lost`,
    )
  }
}

const textOf = (value: JsonValue | undefined): string => (typeof value === 'string' ? value : '')

export const lossText = ({ from, to, at, by, reason }: AcceptedLoss): string =>
  `Records ${from} to ${to} are lost, as ${by} accepted at ${at}: ${reason}`
