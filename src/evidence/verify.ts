import { isUtf8 } from 'node:buffer'
import type { JsonObject } from '../contract/json.ts'
import { type Checkpoint, openCheckpoint, readVerifierKey } from '../domain/checkpoint.ts'
import { canonicalJson, leafHash } from '../domain/digest.ts'
import { EMPTY_TREE, grown, type MerkleTree, rootOf } from '../domain/merkle.ts'
import { linesOf, LongLine } from '../lines.ts'

/** What an auditor brings beside the export: nothing of it comes from the gateway at the time of the check. */
export interface Proofs {
  /** C2SP signed notes that were kept. */
  readonly notes: readonly string[]
  /** The verifier key that was kept when the log was new. */
  readonly verifierKey: string
  /** `Countersign-Evidence` headers that agents kept: `<number>:<leaf hash>`. */
  readonly receipts: readonly string[]
}

export interface Verdict {
  /** What is wrong, in words; nothing when the evidence holds. */
  readonly faults: readonly string[]
  /** How many more there are. */
  readonly omitted: number
  readonly records: number
  /** The newest checkpoint that the export agrees with. */
  readonly signed?: Checkpoint
  /** Records after it: only receipts speak for them. */
  readonly unsigned: number
}

const MOST_FAULTS = 100
/** A record has 16 Mi code units at the most, of three bytes each, and little stands beside it. */
const LONGEST_LINE_BYTES = 64 * 1024 * 1024

/**
 * Checks an export of one tenant's evidence, from its first record on (design.md section 8), offline: every record has the hash that stands beside it,
 * their numbers have no gap, they are of the tenant whose key it is, and each checkpoint is the signed root over exactly the first records. Checkpoints
 * that all agree with one export agree with each other.
 */
export async function verifyEvidence(source: AsyncIterable<Uint8Array>, proofs: Proofs): Promise<Verdict> {
  const check = new EvidenceCheck(proofs)
  try {
    for await (const { bytes } of linesOf(source, LONGEST_LINE_BYTES)) if (bytes.length > 0) check.take(bytes)
  } catch (error) {
    if (!(error instanceof LongLine)) throw error
    check.longLine()
  }
  return check.end()
}

class EvidenceCheck {
  readonly #faults: string[] = []
  readonly #tenant: string | undefined
  readonly #checkpoints: readonly Checkpoint[]
  readonly #receipts: readonly Receipt[]
  #omitted = 0
  #tree: MerkleTree = EMPTY_TREE
  /** Number that the last line gave itself. */
  #number = 0
  #signed: Checkpoint | undefined

  constructor({ notes, verifierKey, receipts }: Proofs) {
    this.#tenant = tenantOf(verifierKey)
    if (this.#tenant === undefined) this.#fault('the key is no verifier key of evidence')
    this.#checkpoints = notes.flatMap((note, i) => {
      const checkpoint = openCheckpoint(note, verifierKey)
      if (checkpoint === undefined) this.#fault(`checkpoint ${i + 1} is not signed by this key`)
      return checkpoint ?? []
    })
    this.#receipts = receipts.flatMap((text) => {
      const receipt = readReceipt(text)
      if (receipt === undefined) this.#fault(`\`${text}\` is no receipt`)
      return receipt ?? []
    })
    this.#compare()
  }

  take(line: Buffer): void {
    const due = this.#tree.size + 1
    const leaf = this.#leafOf(line, due)
    for (const { number, hash } of this.#receipts)
      if (number === due && hash !== leaf) this.#fault(`record ${due} is not the one of its receipt`)
    this.#tree = grown(this.#tree, [leaf])
    this.#compare()
  }

  longLine(): void {
    this.#fault(`line ${this.#tree.size + 1} is longer than any record: nothing from there on was read`)
  }

  end(): Verdict {
    const { size: records } = this.#tree
    for (const { size, at } of this.#checkpoints)
      if (size > records) this.#fault(`${size} records were signed at ${at}, and ${records} are there`)
    for (const { number } of this.#receipts)
      if (number > records) this.#fault(`record ${number}, of which there is a receipt, is not there`)
    const signed = this.#signed
    return {
      faults: this.#faults,
      omitted: this.#omitted,
      records,
      ...(signed && { signed }),
      unsigned: records - (signed?.size ?? 0),
    }
  }

  #fault(text: string): void {
    if (this.#faults.length < MOST_FAULTS) this.#faults.push(text)
    else this.#omitted += 1
  }

  #compare(): void {
    const { size } = this.#tree
    for (const checkpoint of this.#checkpoints) {
      if (checkpoint.size !== size) continue
      if (rootOf(this.#tree) === checkpoint.root) this.#signed = checkpoint
      else this.#fault(`the first ${size} records are not those that were signed at ${checkpoint.at}`)
    }
  }

  /** The hash of the record in the line, whatever is wrong with it. */
  #leafOf(line: Buffer, due: number): string {
    const text = isUtf8(line) ? line.toString('utf8') : undefined
    const [, number, hash, record = ''] = LINE.exec(text ?? '') ?? []
    if (number === undefined) {
      this.#fault(`line ${due} ${text === undefined ? NOT_UTF_8 : whatElse(text)}`)
      return leafHash(text ?? '')
    }
    const leaf = leafHash(record)
    this.#follow(Number(number), due)
    if (leaf !== hash) this.#fault(`record ${number} does not have the hash that stands beside it`)
    const value = canonicalValue(record)
    if (value === undefined) this.#fault(`record ${number} is not RFC 8785 JSON`)
    else if (this.#tenant !== undefined && value['tenant'] !== this.#tenant)
      this.#fault(`record ${number} is not of tenant \`${this.#tenant}\`, whose key this is`)
    return leaf
  }

  /** One record that is missing, or too many, is one fault and not one for each record after it. */
  #follow(number: number, due: number): void {
    if (number !== due && number !== this.#number + 1)
      this.#fault(`record ${number} stands where ${due} is due`)
    this.#number = number
  }
}

/** The export is written so that the text of the record stands last, as it is stored. A commit id has 128 characters at the most, of six when escaped. */
const LINE =
  /^\{"number":([1-9][0-9]{0,14}),"leaf_hash":"([0-9a-f]{64})","commit_id":"(?:[^"\\]|\\.){0,768}","record":(\{.*\})\}$/s
const NOT_UTF_8 = 'is not UTF-8'

function whatElse(text: string): string {
  if (text.endsWith('\r')) return 'ends with a carriage return: the file was converted after the export'
  return 'is not a line of `countersign evidence export`'
}

/** The origin of a log ends with its tenant (docs/decisions/0016-checkpoints.md). */
function tenantOf(verifierKey: string): string | undefined {
  return /^countersign\/[^/]+\/([^/]+)$/.exec(readVerifierKey(verifierKey)?.name ?? '')?.[1]
}

interface Receipt {
  readonly number: number
  readonly hash: string
}

function readReceipt(text: string): Receipt | undefined {
  const [, number, hash] = /^([1-9][0-9]{0,14}):([0-9a-f]{64})$/.exec(text.trim()) ?? []
  return number === undefined || hash === undefined ? undefined : { number: Number(number), hash }
}

/** Undefined unless it is written as RFC 8785 says. */
function canonicalValue(text: string): JsonObject | undefined {
  try {
    const value = JSON.parse(text) as JsonObject
    return canonicalJson(value) === text ? value : undefined
  } catch {
    return undefined
  }
}
