/**
 * Holds: checkpoints, and offline verification of an export.
 * Imports: contract, domain, events, system.
 * Start: verify.ts, then replay.ts.
 */
import type { JsonObject } from '../contract/json.ts'
import { type Checkpoint, readVerifierKey } from '../domain/checkpoint.ts'
import { EMPTY_TREE, grown, type MerkleTree, rootOf } from '../domain/merkle.ts'
import { linesOf, LongLine } from '../system/lines.ts'
import { type ExportLine, readExportLine } from './export-line.ts'
import { openByAny, tenantOf, unsigned } from './keys.ts'
import { OUT_OF_ORDER_MS, Replay, type Story } from './replay.ts'

/** What an auditor brings beside the export: nothing of it comes from the gateway at the time of the check. */
export interface Proofs {
  /** C2SP signed notes that were kept. */
  readonly notes: readonly string[]
  /** The verifier keys that were kept: of when the log was new, and of each rotation since. */
  readonly verifierKeys: readonly string[]
  /** `Countersign-Evidence` headers that agents kept: `<number>:<leaf hash>`. */
  readonly receipts: readonly string[]
  /** The newest checkpoint was signed at this moment or later, ms since 1970; anything goes when absent. */
  readonly freshSince?: number
  /** With it: at this moment or before, because one of the future would be new for ever. */
  readonly freshUntil?: number
}

/**
 * What can be wrong with evidence (docs/evidence.md). `signature`: who signed the checkpoints; `integrity`: each record is what was stored; `inclusion`: the
 * records are those that were signed, and that receipts speak of; `consistency`: there is one history; `completeness`: nothing is missing or invented in it;
 * `freshness`: it is new enough.
 */
export const PROPERTIES = [
  'signature',
  'integrity',
  'inclusion',
  'consistency',
  'completeness',
  'freshness',
] as const
export type Property = (typeof PROPERTIES)[number]

export interface Fault {
  readonly property: Property
  /** In words. */
  readonly text: string
}

export interface Verdict {
  /** What is wrong; nothing when the evidence holds. */
  readonly faults: readonly Fault[]
  /** How many more there are. */
  readonly omitted: number
  readonly records: number
  /** The newest checkpoint that the export agrees with. */
  readonly signed?: Checkpoint
  /** Records after it: only receipts speak for them. */
  readonly unsigned: number
  /** Every record could be read, stands in its place, and was lived through. */
  readonly whole: boolean
  /** What the records tell, as far as they were lived through. */
  readonly story: Story
}

/** And the first of each property, however many there are of others: none seems to hold that does not. */
const MOST_FAULTS = 100
/** A record has 16 Mi code units at the most, of three bytes each, and little stands beside it. */
export const LONGEST_LINE_BYTES = 64 * 1024 * 1024

/**
 * Checks an export of one tenant's evidence, from its first record on (docs/evidence.md), offline. Checkpoints that all agree with one export agree with
 * each other.
 */
export async function verifyEvidence(source: AsyncIterable<Uint8Array>, proofs: Proofs): Promise<Verdict> {
  const check = new EvidenceCheck(proofs)
  try {
    for await (const { bytes } of linesOf(source, LONGEST_LINE_BYTES)) check.take(bytes)
  } catch (error) {
    if (!(error instanceof LongLine)) throw error
    check.longLine()
  }
  return check.end()
}

class EvidenceCheck {
  readonly #faults: Fault[] = []
  readonly #replay = new Replay()
  /** No record is missing so far, and each could be read: behind that the rest would contradict itself for no other reason. */
  #isWhole = true
  readonly #tenant: string | undefined
  readonly #checkpoints: readonly Checkpoint[]
  /** By how many records they cover: of years there are thousands, and each record is held against them. */
  readonly #signedAt = new Map<number, Checkpoint[]>()
  /** Leaf hashes that receipts name, by the number of the record. */
  readonly #receipts = new Map<number, string[]>()
  readonly #fresh: { readonly since: number; readonly until: number }
  #omitted = 0
  /** Of the file. */
  #line = 0
  #tree: MerkleTree = EMPTY_TREE
  /** Number that the last line gave itself. */
  #number = 0
  #signed: Checkpoint | undefined
  /** The latest time that a record tells, ms since 1970. */
  #latest = -Infinity

  constructor({
    notes,
    verifierKeys,
    receipts,
    freshSince: since = -Infinity,
    freshUntil: until = Infinity,
  }: Proofs) {
    this.#fresh = { since, until }
    this.#tenant = this.#tenantOf(verifierKeys)
    this.#checkpoints = notes.flatMap((note, i) => {
      const checkpoint = openByAny(note, verifierKeys)
      if (checkpoint === undefined)
        this.#fault('signature', `checkpoint ${i + 1} ${unsigned(note, verifierKeys)}`)
      return checkpoint ?? []
    })
    for (const one of this.#checkpoints)
      this.#signedAt.set(one.size, [...(this.#signedAt.get(one.size) ?? []), one])
    for (const text of receipts) this.#keep(text)
    this.#compareEachOther()
    this.#compare()
  }

  /** A line without anything in it is none of an export, and counts as a line all the same: its place is where an editor shows it. */
  take(bytes: Buffer): void {
    this.#line += 1
    if (bytes.length === 0) return
    const line = readExportLine(bytes)
    const due = this.#tree.size + 1
    this.#look(line, due)
    for (const hash of this.#receipts.get(due) ?? [])
      if (hash !== line.leaf) this.#fault('inclusion', `record ${due} is not the one of its receipt`)
    this.#tree = grown(this.#tree, [line.leaf])
    this.#compare()
  }

  longLine(): void {
    const line = this.#line + 1
    this.#isWhole = false
    this.#fault('integrity', `line ${line} is longer than any record: nothing from there on was read`)
  }

  end(): Verdict {
    const { size: records } = this.#tree
    for (const { size, at } of this.#checkpoints)
      if (size > records)
        this.#fault('inclusion', `${size} records were signed at ${at}, and ${records} are there`)
    for (const number of this.#receipts.keys())
      if (number > records)
        this.#fault('inclusion', `record ${number}, of which there is a receipt, is not there`)
    const missing = this.#isWhole ? this.#replay.end() : undefined
    if (missing !== undefined) this.#fault('completeness', missing)
    this.#lookAtTime()
    const signed = this.#signed
    return {
      faults: this.#faults,
      omitted: this.#omitted,
      records,
      ...(signed && { signed }),
      unsigned: records - (signed?.size ?? 0),
      whole: this.#isWhole,
      story: this.#replay.story(),
    }
  }

  #fault(property: Property, text: string): void {
    const isFirst = this.#faults.every((one) => one.property !== property)
    if (isFirst || this.#faults.length < MOST_FAULTS) this.#faults.push({ property, text })
    else this.#omitted += 1
  }

  /** Keys of two logs would let one stand for the other. */
  #tenantOf(verifierKeys: readonly string[]): string | undefined {
    const [first, ...others] = verifierKeys.map((key) => readVerifierKey(key)?.name)
    const tenant = tenantOf(first)
    if (tenant === undefined || others.includes(undefined))
      this.#fault('signature', 'the key is no verifier key of evidence')
    if (others.some((name) => name !== undefined && name !== first))
      this.#fault('signature', 'the keys are of more than one log')
    return tenant
  }

  #keep(receipt: string): void {
    const [, number, hash = ''] = RECEIPT.exec(receipt.trim()) ?? []
    if (number === undefined) return this.#fault('inclusion', `\`${receipt}\` is no receipt`)
    this.#receipts.set(Number(number), [...(this.#receipts.get(Number(number)) ?? []), hash])
  }

  /** Of two that were signed for the same number of records, one is of another history. */
  #compareEachOther(): void {
    const roots = new Map<number, string>()
    for (const { size, root } of this.#checkpoints) {
      const other = roots.get(size)
      if (other !== undefined && other !== root)
        this.#fault('consistency', `two different histories of ${size} records were signed`)
      roots.set(size, root)
    }
  }

  #compare(): void {
    const { size } = this.#tree
    for (const checkpoint of this.#signedAt.get(size) ?? []) {
      if (rootOf(this.#tree) === checkpoint.root) this.#fits(checkpoint)
      else
        this.#fault(
          'inclusion',
          `the first ${size} records are not those that were signed at ${checkpoint.at}`,
        )
    }
  }

  /** What is signed is there already, by the same clock. */
  #fits(checkpoint: Checkpoint): void {
    this.#signed = later(this.#signed, checkpoint)
    const { size, at } = checkpoint
    const isOlder = Date.parse(at) + OUT_OF_ORDER_MS < this.#latest
    if (!isOlder) return
    const latest = new Date(this.#latest).toISOString()
    this.#fault('consistency', `${size} records were signed at ${at}, and one of them is of ${latest}`)
  }

  #look({ number, record, faults }: ExportLine, due: number): void {
    const name = number === undefined ? `line ${this.#line}` : `record ${number}`
    for (const fault of faults) this.#fault('integrity', `${name} ${fault}`)
    if (number !== undefined) this.#follow(number, due)
    const isOther = record !== undefined && this.#tenant !== undefined && record['tenant'] !== this.#tenant
    if (isOther) this.#fault('integrity', `${name} is not of tenant \`${this.#tenant}\`, whose key this is`)
    if (faults.length > 0 || number !== due || isOther) this.#isWhole = false
    if (record !== undefined && this.#isWhole) this.#live(name, record)
  }

  #live(name: string, record: JsonObject): void {
    this.#latest = Math.max(this.#latest, timeOf(record))
    const broken = this.#replay.take(record)
    if (broken !== undefined) this.#fault('completeness', `${name} cannot have happened: ${broken}`)
  }

  /** One record that is missing, or too many, is one fault and not one for each record after it. */
  #follow(number: number, due: number): void {
    if (number !== due && number !== this.#number + 1)
      this.#fault('completeness', `record ${number} stands where ${due} is due`)
    this.#number = number
  }

  /** What is no time, as 99 hours, is neither: it is held against both. */
  #lookAtTime(): void {
    const { since, until } = this.#fresh
    if (since === -Infinity) return
    const { at } = this.#signed ?? {}
    const signed = at === undefined ? -Infinity : Date.parse(at)
    if (!(signed >= since))
      this.#fault('freshness', `no checkpoint that fits was signed since ${new Date(since).toISOString()}`)
    else if (!(signed <= until))
      this.#fault(
        'freshness',
        `the newest checkpoint that fits is of ${at}, which has not come yet: nobody says how new it is`,
      )
  }
}

/** The one over more records; of two over the same, the one that was signed later. */
function later(one: Checkpoint | undefined, other: Checkpoint): Checkpoint {
  return one !== undefined && one.size === other.size && one.at > other.at ? one : other
}

/** What is no time is told by the replay. */
function timeOf({ at }: JsonObject): number {
  const time = typeof at === 'string' ? Date.parse(at) : Number.NaN
  return Number.isNaN(time) ? -Infinity : time
}

const RECEIPT = /^([1-9][0-9]{0,14}):([0-9a-f]{64})$/
