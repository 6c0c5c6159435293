import type { JsonObject, JsonValue } from '../contract/json.ts'
import { type Checkpoint, readVerifierKey } from '../domain/checkpoint.ts'
import { isDisclosures } from '../domain/disclosure.ts'
import { EMPTY_TREE, grown, grownBySubtree, type MerkleTree, rootOf } from '../domain/merkle.ts'
import { linesOf, LongLine } from '../system/lines.ts'
import { DisclosureCheck, type DisclosureCounts } from './disclosure-check.ts'
import { type ExportLine, FILE_RECORDS, readExportLine } from './export-line.ts'
import { type AcceptedLoss, LossCheck } from './loss-check.ts'
import { openByAny, tenantOf, unsigned } from './keys.ts'
import type { VerifiedState } from './state.ts'
import { OUT_OF_ORDER_MS, Replay, type Story } from './replay.ts'

/**
 * The auditor's own data apart from the export. The auditor does not get this data from the gateway at the time of the
 * check.
 */
export interface Proofs {
  /** Kept C2SP signed notes. */
  readonly notes: readonly string[]
  /** Kept verifier keys: the log's first key, and a key for each rotation since. */
  readonly verifierKeys: readonly string[]
  /** `Countersign-Evidence` headers that agents kept: `<number>:<leaf hash>`. */
  readonly receipts: readonly string[]
  /** The earliest accepted signing time of the newest checkpoint, ms since 1970; any time when absent. */
  readonly freshSince?: number
  /**
   * The latest accepted time, given together with `freshSince`. Without this bound, a checkpoint from the future would
   * never become too old.
   */
  readonly freshUntil?: number
  /** The state that an earlier verification of the same log left. The source begins with the next record. */
  readonly from?: VerifiedState
}

/**
 * The properties of evidence that can fail (docs/evidence.md):
 * - `signature`: the keys signed the checkpoints
 * - `integrity`: each record has its stored bytes
 * - `inclusion`: checkpoints and receipts match the records
 * - `consistency`: there is one history
 * - `completeness`: no record is missing or invented
 * - `freshness`: the evidence is new enough
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
  /** The fault in words. */
  readonly text: string
}

export interface Verdict {
  /** The faults; empty when all properties hold. */
  readonly faults: readonly Fault[]
  /** The number of further faults. */
  readonly omitted: number
  readonly records: number
  /** The newest checkpoint that matches the export. */
  readonly signed?: Checkpoint
  /** The number of records after that checkpoint, which only receipts confirm. */
  readonly unsigned: number
  /** The commitments of the records, and what the export holds of their disclosures. */
  readonly disclosures: DisclosureCounts
  /** Records that are lost, and who accepted that. */
  readonly lost: readonly AcceptedLoss[]
  /** True when every record was readable, in its place, and replayed. */
  readonly whole: boolean
  /** The state after the replayed records. */
  readonly story: Story
}

export interface Verified {
  readonly verdict: Verdict
  /** The state after the last record; absent when a property fails, or records are lost. */
  readonly state?: VerifiedState
}

/**
 * Limits the list of faults. The first fault of each property is always listed, so that a failed property never seems
 * to hold.
 */
const MOST_FAULTS = 100
/** A record has at most 16 Mi code units of up to three bytes, and the rest of a line is short. */
export const LONGEST_LINE_BYTES = 64 * 1024 * 1024

/**
 * Checks an export of one tenant's evidence offline, from its first record (docs/evidence.md). Checkpoints that all
 * match one export match each other.
 */
export async function verifyEvidence(source: AsyncIterable<Uint8Array>, proofs: Proofs): Promise<Verdict> {
  return (await verifyAfter(source, proofs)).verdict
}

/** The same, with the state for the next verification. */
export async function verifyAfter(source: AsyncIterable<Uint8Array>, proofs: Proofs): Promise<Verified> {
  const check = new EvidenceCheck(proofs)
  try {
    for await (const { bytes } of linesOf(source, LONGEST_LINE_BYTES)) check.take(bytes)
  } catch (error) {
    if (!(error instanceof LongLine)) throw error
    check.longLine()
  }
  const verdict = check.end()
  // after a lost record, no later run could continue the replay
  return verdict.faults.length > 0 || !verdict.whole ? { verdict } : { verdict, state: check.state() }
}

/** The state before the first record. */
const FIRST_RECORD = { tree: EMPTY_TREE, latest: -Infinity, replayed: undefined }

const logOf = ([key = '']: readonly string[]): string => readVerifierKey(key)?.name ?? ''

class EvidenceCheck {
  readonly #faults: Fault[] = []
  readonly #replay: Replay
  /** False after a missing or unreadable record. Replay stops there, because all later records would seem wrong. */
  #isWhole = true
  /** The name of the first key. */
  readonly #log: string
  readonly #tenant: string | undefined
  readonly #checkpoints: readonly Checkpoint[]
  /**
   * Checkpoints by their size, because there are thousands after some years, and each record is checked against them.
   */
  readonly #signedAt = new Map<number, Checkpoint[]>()
  /** Leaf hashes of receipts, by the number of the record. */
  readonly #receipts = new Map<number, string[]>()
  readonly #fresh: { readonly since: number; readonly until: number }
  #omitted = 0
  /** The line of the file. */
  #line = 0
  #tree: MerkleTree
  /** The number in the last line. */
  #number: number
  #signed: Checkpoint | undefined
  readonly #disclosures = new DisclosureCheck()
  readonly #lost = new LossCheck()
  /** The latest time of a record, ms since 1970. */
  #latest: number

  constructor({
    notes,
    verifierKeys,
    receipts,
    freshSince: since = -Infinity,
    freshUntil: until = Infinity,
    from,
  }: Proofs) {
    this.#fresh = { since, until }
    const { tree, latest, replayed } = from ?? FIRST_RECORD
    this.#replay = new Replay(replayed)
    this.#tree = tree
    this.#number = tree.size
    this.#latest = latest
    this.#log = logOf(verifierKeys)
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
    this.#requireReached(from)
    this.#compare()
  }

  /** Requires the earlier state to be of this log, and to be older than all proofs. */
  #requireReached(from: VerifiedState | undefined): void {
    if (from === undefined) return
    const { size } = from.tree
    if (from.log !== this.#log)
      this.#fault('signature', `the state is of \`${from.log}\`, and the key of \`${this.#log}\``)
    // the record before a receipt's number was read by the earlier verification as well
    const receipts = [...this.#receipts.keys()].map((number) => number - 1)
    for (const at of [...this.#signedAt.keys(), ...receipts])
      if (at < size)
        this.#fault(
          'inclusion',
          `a checkpoint or receipt is older than the state, which begins after record ${size}`,
        )
  }

  /** The state after the records so far. */
  state(): VerifiedState {
    return { log: this.#log, tree: this.#tree, latest: this.#latest, replayed: this.#replay.state() }
  }

  /** Takes a line. A blank line is not a record, but is counted, so that line numbers match those of an editor. */
  take(bytes: Buffer): void {
    this.#line += 1
    if (bytes.length === 0) return
    const line = readExportLine(bytes)
    if (line.lost !== undefined) return this.#lose(line.number ?? 0, line.lost)
    const due = this.#tree.size + 1
    this.#look(line, due)
    for (const hash of this.#receipts.get(due) ?? [])
      if (hash !== line.leaf) this.#fault('inclusion', `record ${due} does not match its receipt`)
    this.#tree = grown(this.#tree, [line.leaf])
    this.#compare()
  }

  /** Takes a record that is lost. The first of a record file adds its hash to the tree. */
  #lose(number: number, root: string): void {
    const { size } = this.#tree
    this.#isWhole = false
    if (this.#receipts.has(number))
      this.#fault('inclusion', `record ${number}, for which a receipt exists, is lost`)
    if (number % FILE_RECORDS !== 0 && this.#signedAt.has(number))
      this.#fault('inclusion', `the checkpoint of ${number} records ends inside of lost ones: leave it out`)
    if (number === size + 1 && size % FILE_RECORDS === 0) {
      this.#lost.add(number, root)
      this.#tree = grownBySubtree(this.#tree, root, FILE_RECORDS)
      this.#compare()
    } else if (number !== this.#number + 1 || number > size)
      this.#fault('completeness', `lost record ${number} is in the place of record ${size + 1}`)
    this.#number = number
  }

  longLine(): void {
    const line = this.#line + 1
    this.#isWhole = false
    this.#fault('integrity', `line ${line} is longer than any record: the rest of the file was not read`)
  }

  end(): Verdict {
    const { size: records } = this.#tree
    for (const { size, at } of this.#checkpoints)
      if (size > records)
        this.#fault('inclusion', `${size} records were signed at ${at}, but the export has only ${records}`)
    for (const number of this.#receipts.keys())
      if (number > records)
        this.#fault('inclusion', `record ${number}, for which a receipt exists, is missing`)
    const { counts, faults } = this.#disclosures.end()
    for (const fault of faults) this.#fault('completeness', fault)
    for (const fault of this.#lost.faults()) this.#fault('completeness', fault)
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
      disclosures: counts,
      lost: this.#lost.accepted(),
      whole: this.#isWhole,
      story: this.#replay.story(),
    }
  }

  #fault(property: Property, text: string): void {
    const isFirst = this.#faults.every((one) => one.property !== property)
    if (isFirst || this.#faults.length < MOST_FAULTS) this.#faults.push({ property, text })
    else this.#omitted += 1
  }

  /** The tenant of the keys. Keys of two logs are refused, because one log could be presented as the other. */
  #tenantOf(verifierKeys: readonly string[]): string | undefined {
    const [first, ...others] = verifierKeys.map((key) => readVerifierKey(key)?.name)
    const tenant = tenantOf(first)
    if (tenant === undefined || others.includes(undefined))
      this.#fault('signature', 'the key is not a verifier key of evidence')
    if (others.some((name) => name !== undefined && name !== first))
      this.#fault('signature', 'the keys belong to more than one log')
    return tenant
  }

  #keep(receipt: string): void {
    const [, number, hash = ''] = RECEIPT.exec(receipt.trim()) ?? []
    if (number === undefined) return this.#fault('inclusion', `\`${receipt}\` is not a receipt`)
    this.#receipts.set(Number(number), [...(this.#receipts.get(Number(number)) ?? []), hash])
  }

  /** Compares checkpoints of equal size. A different root means a different history. */
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
          `the first ${size} records are not the records that were signed at ${checkpoint.at}`,
        )
    }
  }

  /** Requires the checkpoint to be no older than its records, by the same clock. */
  #fits(checkpoint: Checkpoint): void {
    this.#signed = later(this.#signed, checkpoint)
    const { size, at } = checkpoint
    const isOlder = Date.parse(at) + OUT_OF_ORDER_MS < this.#latest
    if (!isOlder) return
    const latest = new Date(this.#latest).toISOString()
    this.#fault('consistency', `${size} records were signed at ${at}, but one of them has the time ${latest}`)
  }

  #look(line: ExportLine, due: number): void {
    const { number, record, faults } = line
    const name = number === undefined ? `line ${this.#line}` : `record ${number}`
    for (const fault of faults) this.#fault('integrity', `${name} ${fault}`)
    if (number !== undefined) this.#follow(number, due)
    const isOther = record !== undefined && this.#tenant !== undefined && record['tenant'] !== this.#tenant
    if (isOther)
      this.#fault('integrity', `${name} does not belong to tenant \`${this.#tenant}\`, which owns the key`)
    if (faults.length > 0 || number !== due || isOther) this.#isWhole = false
    if (record !== undefined) this.#read(name, due, { record, disclosures: line.disclosures })
  }

  #read(
    name: string,
    number: number,
    { record, disclosures }: { readonly record: JsonObject; readonly disclosures: JsonValue | undefined },
  ): void {
    const broken = this.#disclosures.take(number, record, disclosures)
    if (broken !== undefined) this.#fault('integrity', `${name} ${broken}`)
    this.#lost.take(number, record)
    const members = isDisclosures(disclosures) && broken === undefined ? disclosures.members : undefined
    if (this.#isWhole) this.#live(name, record, members)
  }

  #live(name: string, record: JsonObject, disclosed: JsonObject | undefined): void {
    this.#latest = Math.max(this.#latest, timeOf(record))
    const broken = this.#replay.take(record, disclosed)
    if (broken !== undefined) this.#fault('completeness', `${name} cannot have happened: ${broken}`)
  }

  /** Reports a missing or extra record once, not for every later record. */
  #follow(number: number, due: number): void {
    if (number !== due && number !== this.#number + 1)
      this.#fault('completeness', `record ${number} is in the place of record ${due}`)
    this.#number = number
  }

  /** Checks freshness. An invalid time, such as 99 hours, violates both bounds. */
  #lookAtTime(): void {
    const { since, until } = this.#fresh
    if (since === -Infinity) return
    const { at } = this.#signed ?? {}
    const signed = at === undefined ? -Infinity : Date.parse(at)
    if (!(signed >= since))
      this.#fault('freshness', `no matching checkpoint was signed since ${new Date(since).toISOString()}`)
    else if (!(signed <= until))
      this.#fault(
        'freshness',
        `the newest matching checkpoint has the time ${at}, which is in the future: the age of the evidence is unknown`,
      )
  }
}

/** The larger checkpoint; for equal sizes, the checkpoint that was signed later. */
function later(one: Checkpoint | undefined, other: Checkpoint): Checkpoint {
  return one !== undefined && one.size === other.size && one.at > other.at ? one : other
}

/** The time of a record. Replay reports an invalid time. */
function timeOf({ at }: JsonObject): number {
  const time = typeof at === 'string' ? Date.parse(at) : Number.NaN
  return Number.isNaN(time) ? -Infinity : time
}

const RECEIPT = /^([1-9][0-9]{0,14}):([0-9a-f]{64})$/
