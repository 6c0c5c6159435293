import { type Checkpoint, openCheckpoint } from '../domain/checkpoint.ts'
import { canonicalJson, leafHash } from '../domain/digest.ts'
import { EMPTY_TREE, grown, type MerkleTree, rootOf } from '../domain/merkle.ts'

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
  /** Everything that is wrong, in words; nothing when the evidence holds. */
  readonly faults: readonly string[]
  readonly records: number
  /** The newest checkpoint that the export agrees with. */
  readonly signed?: Checkpoint
  /** Records after it: only receipts speak for them. */
  readonly unsigned: number
}

const MOST_FAULTS = 100

/**
 * Checks an export of one tenant's evidence, from its first record on (design.md section 8), offline: every record has the hash that stands beside it,
 * their numbers have no gap, and each checkpoint is the signed root over exactly the first records. Checkpoints that all agree with one export agree
 * with each other.
 */
export async function verifyEvidence(lines: AsyncIterable<string>, proofs: Proofs): Promise<Verdict> {
  const check = new EvidenceCheck(proofs)
  for await (const line of lines) if (line !== '') check.take(line)
  return check.end()
}

class EvidenceCheck {
  readonly #faults: string[] = []
  readonly #checkpoints: readonly Checkpoint[]
  readonly #receipts: readonly Receipt[]
  #tree: MerkleTree = EMPTY_TREE
  #signed: Checkpoint | undefined

  constructor({ notes, verifierKey, receipts }: Proofs) {
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

  take(line: string): void {
    const due = this.#tree.size + 1
    const leaf = this.#leafOf(line, due)
    for (const { number, hash } of this.#receipts)
      if (number === due && hash !== leaf) this.#fault(`record ${due} is not the one of its receipt`)
    this.#tree = grown(this.#tree, [leaf])
    this.#compare()
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
      records,
      ...(signed && { signed }),
      unsigned: records - (signed?.size ?? 0),
    }
  }

  #fault(text: string): void {
    if (this.#faults.length < MOST_FAULTS) this.#faults.push(text)
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
  #leafOf(line: string, due: number): string {
    const [, number, hash, record = ''] = LINE.exec(line) ?? []
    if (number === undefined) {
      this.#fault(`line ${due} is not a line of \`countersign evidence export\``)
      return leafHash(line)
    }
    const leaf = leafHash(record)
    if (Number(number) !== due) this.#fault(`record ${number} stands where ${due} is due`)
    if (leaf !== hash) this.#fault(`record ${number} does not have the hash that stands beside it`)
    if (!isCanonical(record)) this.#fault(`record ${number} is not RFC 8785 JSON`)
    return leaf
  }
}

/** The export is written so that the text of the record stands last, as it is stored. */
const LINE =
  /^\{"number":([0-9]{1,15}),"leaf_hash":"([0-9a-f]{64})","commit_id":"(?:[^"\\]|\\.)*","record":(\{.*\})\}$/s

interface Receipt {
  readonly number: number
  readonly hash: string
}

function readReceipt(text: string): Receipt | undefined {
  const [, number, hash] = /^([1-9][0-9]{0,14}):([0-9a-f]{64})$/.exec(text.trim()) ?? []
  return number === undefined || hash === undefined ? undefined : { number: Number(number), hash }
}

function isCanonical(text: string): boolean {
  try {
    return canonicalJson(JSON.parse(text) as Parameters<typeof canonicalJson>[0]) === text
  } catch {
    return false
  }
}
