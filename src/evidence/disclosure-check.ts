import { isObject, type JsonObject, type JsonValue } from '../contract/json.ts'
import { commitmentOf, isDisclosures } from '../domain/disclosure.ts'
import { Ranges } from '../domain/ranges.ts'

/** The commitments of an export, by what the export holds of their disclosures. */
export interface DisclosureCounts {
  /** Records with a commitment. */
  readonly commitments: number
  /** Records whose disclosures were given and match. */
  readonly given: number
  /** Records of which members were erased. */
  readonly erased: number
  /** Records whose disclosures were deleted when their time was over. */
  readonly expired: number
}

/**
 * Checks disclosures against the commitments of their records (docs/evidence.md). In an export with disclosures, a
 * record of the log must explain each deletion. `disclosures.erased` names the records. `disclosures.expired` names the
 * number up to which they were deleted. A record explains only earlier records. `members` limits how many members may
 * be gone.
 */
export class DisclosureCheck {
  #commitments = 0
  #given = 0
  readonly #missing = new Ranges()
  readonly #changed = new Ranges()
  readonly #erased = new Ranges()
  readonly #rewritten = new Ranges()
  #expired = 0
  /** Members that records say were erased, and hashes of erased members. */
  #announced = 0
  #hashes = 0
  readonly #expectsAll: boolean

  /** @param expectsAll true for a store, which must hold all disclosures; an export may have been made without them */
  constructor({ expectsAll = false } = {}) {
    this.#expectsAll = expectsAll
  }

  /** The fault of a record, in words. @param number the number of the record */
  take(number: number, record: JsonObject, disclosures: JsonValue | undefined): string | undefined {
    const details = isObject(record['details']) ? record['details'] : {}
    const premature = this.#note(number, record['type'], details)
    const { commitment } = details
    if (premature !== undefined) return premature
    if (commitment === undefined)
      return disclosures === undefined ? undefined : 'has disclosures, but no commitment to them'
    this.#commitments += 1
    if (disclosures === undefined) {
      this.#missing.add(number)
      return undefined
    }
    if (!isDisclosures(disclosures) || commitmentOf(disclosures) !== commitment)
      return 'has disclosures that do not match its commitment'
    this.#given += 1
    if (disclosures.erased !== undefined) this.#changed.add(number)
    this.#hashes += disclosures.erased?.length ?? 0
    return undefined
  }

  /** Notes that the store holds what an erasure left of a record's disclosures. */
  rewritten(number: number): void {
    this.#rewritten.add(number)
    this.#changed.add(number)
  }

  end(): { readonly counts: DisclosureCounts; readonly faults: readonly string[] } {
    const counts = {
      commitments: this.#commitments,
      given: this.#given,
      erased: this.#changed.size,
      expired: this.#missing.sizeUpTo(this.#expired),
    }
    this.#rewritten.addRange(1, this.#expired)
    const unsaid = this.#changed.without(this.#erased)
    const given = this.#expectsAll || this.#given > 0
    const lost = given ? this.#missing.without(this.#rewritten) : undefined
    return {
      counts,
      faults: [
        ...(unsaid === undefined ? [] : [`no record says that disclosures of record ${unsaid} were erased`]),
        ...(lost === undefined ? [] : [`no record says why record ${lost} has no disclosures`]),
        ...(this.#hashes <= this.#announced
          ? []
          : [`${this.#hashes} members were erased, but records say ${this.#announced}`]),
      ],
    }
  }

  /** Notes what a record explains. Returns the fault of a record that explains itself or later records. */
  #note(number: number, type: JsonValue | undefined, details: JsonObject): string | undefined {
    if (type === 'disclosures.expired') {
      const upTo = Number(details['up_to']) || 0
      if (upTo >= number) return EARLY
      this.#expired = Math.max(this.#expired, upTo)
    }
    if (type !== 'disclosures.erased') return undefined
    const ranges = rangesIn(details['records'])
    const earlier = ranges.filter(([, last]) => last < number)
    for (const [first, last] of earlier) this.#erased.addRange(first, last)
    if (earlier.length < ranges.length) return EARLY
    this.#announced += Number(details['members']) || 0
    return undefined
  }
}

const EARLY = 'explains deletions of records that did not exist yet'

function rangesIn(records: JsonValue | undefined): (readonly [first: number, last: number])[] {
  if (!Array.isArray(records)) return []
  return (records as readonly JsonValue[]).flatMap((range) => {
    const [first, last] = Array.isArray(range) ? (range as readonly JsonValue[]) : []
    return typeof first === 'number' && typeof last === 'number' ? [[first, last] as const] : []
  })
}
