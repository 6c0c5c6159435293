import { createReadStream, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { compareText } from '../archive.ts'

/*
 * Keys in order, each once, however many there are: runs that fit into memory are sorted and laid aside in files, then merged. SCAN gives keys
 * in no order and may give one twice. Keys are ASCII without line ends (keys.ts).
 */

/** What is compared is not the key but its parts: escaping does not keep order. */
export type PartsOf = (key: string) => readonly string[]

interface Sortable {
  readonly key: string
  readonly parts: readonly string[]
}

const RUN_KEYS = 25_000

export async function* sortedKeys(
  pages: AsyncIterable<readonly string[]>,
  partsOf: PartsOf,
  runKeys = RUN_KEYS,
): AsyncGenerator<string> {
  const files = new RunFiles()
  try {
    let run: Sortable[] = []
    for await (const page of pages) {
      for (const key of page) run.push({ key, parts: partsOf(key) })
      if (run.length < runKeys) continue
      files.write(run.sort(compare))
      run = []
    }
    run.sort(compare)
    let last: string | undefined
    for await (const key of files.isEmpty()
      ? inMemory(run)
      : merged([inMemory(run), ...files.read(partsOf)])) {
      if (key.key !== last) yield key.key
      last = key.key
    }
  } finally {
    files.remove()
  }
}

function compare(a: Sortable, b: Sortable): number {
  for (let i = 0; i < a.parts.length && i < b.parts.length; i++) {
    const order = compareText(a.parts[i] ?? '', b.parts[i] ?? '')
    if (order !== 0) return order
  }
  return a.parts.length - b.parts.length
}

/** For the owner's eyes only (mkdtemp makes it so): keys name agents and hold hashes. */
class RunFiles {
  #directory: string | undefined
  readonly #files: string[] = []

  isEmpty(): boolean {
    return this.#files.length === 0
  }

  write(run: readonly Sortable[]): void {
    this.#directory ??= mkdtempSync(join(tmpdir(), 'countersign-keys-'))
    const file = join(this.#directory, String(this.#files.length))
    writeFileSync(file, run.map(({ key }) => `${key}\n`).join(''), { mode: 0o600 })
    this.#files.push(file)
  }

  read(partsOf: PartsOf): AsyncIterator<Sortable>[] {
    return this.#files.map((file) => linesOf(file, partsOf))
  }

  remove(): void {
    if (this.#directory !== undefined) rmSync(this.#directory, { recursive: true, force: true })
  }
}

async function* linesOf(file: string, partsOf: PartsOf): AsyncGenerator<Sortable> {
  for await (const key of createInterface({ input: createReadStream(file) }))
    yield { key, parts: partsOf(key) }
}

async function* inMemory(run: readonly Sortable[]): AsyncGenerator<Sortable> {
  yield* run
}

/** A run, and the first of its keys that was not yet taken. */
interface Head {
  readonly run: AsyncIterator<Sortable>
  readonly first: Sortable
}

/** Of all runs the least, again and again: of ten million keys there are four hundred runs, so the least is kept on top of a heap. */
async function* merged(runs: readonly AsyncIterator<Sortable>[]): AsyncGenerator<Sortable> {
  const heads = await Promise.all(runs.map(headOf))
  const heap = heads.filter((head) => head !== undefined)
  heap.sort((a, b) => compare(a.first, b.first))
  for (let least = heap[0]; least !== undefined; least = heap[0]) {
    yield least.first
    const next = (await headOf(least.run)) ?? heap.pop()
    if (next === undefined || heap.length === 0) return
    sink(heap, next)
  }
}

async function headOf(run: AsyncIterator<Sortable>): Promise<Head | undefined> {
  const { done, value } = await run.next()
  return done === true ? undefined : { run, first: value as Sortable }
}

/** Puts it in the place of the top, and lets it sink to where nothing below it is less. */
function sink(heap: Head[], head: Head): void {
  let at = 0
  for (;;) {
    const child = lesserChild(heap, at)
    const below = heap[child]
    if (below === undefined || compare(head.first, below.first) <= 0) break
    heap[at] = below
    at = child
  }
  heap[at] = head
}

function lesserChild(heap: readonly Head[], at: number): number {
  const left = 2 * at + 1
  const [one, other] = [heap[left], heap[left + 1]]
  return one !== undefined && other !== undefined && compare(other.first, one.first) < 0 ? left + 1 : left
}
