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

/** Of all runs the least, again and again; there are few runs, so they are simply looked through. */
async function* merged(runs: readonly AsyncIterator<Sortable>[]): AsyncGenerator<Sortable> {
  const heads = await Promise.all(runs.map((run) => run.next()))
  for (;;) {
    let least = -1
    for (const [i, head] of heads.entries()) {
      if (head.done) continue
      const best = heads[least]
      if (best === undefined || best.done || compare(head.value, best.value) < 0) least = i
    }
    const head = heads[least]
    const run = runs[least]
    if (head === undefined || head.done || run === undefined) return
    yield head.value
    heads[least] = await run.next()
  }
}
