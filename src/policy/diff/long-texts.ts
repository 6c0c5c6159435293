import type { Machine } from './machines.ts'
import { alphabetOf, createTable, type FoundTexts } from './texts.ts'

/** The maximum number of search steps. */
const MAX_STEPS = 2_000_000
/** The maximum total number of characters of all strings. */
const MAX_CHARACTERS = 4_000_000

/** A step into a state: the previous state and the character. */
interface Step {
  readonly from: number
  readonly character: number
}
/** The states that strings of one length lead to, each with its last step. */
type Layer = ReadonlyMap<number, Step>

/** Finds one string of exactly this length for every joint state of the machines that such strings reach. */
export function textsOfLength(machines: readonly Machine[], length: number): FoundTexts {
  const layers = layersTo(length, createSteps(machines))
  const last = layers?.at(-1)
  if (!layers || !last || last.size * length > MAX_CHARACTERS) return { texts: [], complete: false }
  return { texts: [...last.keys()].map((state) => textTo(state, length, layers)), complete: true }
}

/**
 * Builds layers up to `length`, or until two layers have the same states, because all further layers then equal the
 * last.
 */
function layersTo(
  length: number,
  stepsFrom: (state: number) => readonly number[][],
): readonly Layer[] | undefined {
  const layers: Layer[] = [new Map([[0, { from: 0, character: 0 }]])]
  let steps = 0
  while (layers.length <= length) {
    const before = layers.at(-1) as Layer
    const next = new Map<number, Step>()
    for (const from of before.keys()) {
      const found = stepsFrom(from)
      steps += found.length
      if (steps > MAX_STEPS) return undefined
      for (const [to = 0, character = 0] of found) if (!next.has(to)) next.set(to, { from, character })
    }
    layers.push(next)
    if (next.size === before.size && [...next.keys()].every((state) => before.has(state))) break
  }
  return layers
}

function textTo(state: number, length: number, layers: readonly Layer[]): string {
  const characters: number[] = []
  let here = state
  for (let at = length; at > 0; at--) {
    const step = layers[Math.min(at, layers.length - 1)]?.get(here)
    if (step === undefined) break
    characters.push(step.character)
    here = step.from
  }
  return characters
    .reverse()
    .map((character) => String.fromCodePoint(character))
    .join('')
}

/**
 * Returns a function that lists the states that one more character leads to from a joint state, each with one such
 * character.
 */
function createSteps(machines: readonly Machine[]): (state: number) => readonly number[][] {
  const alphabet = alphabetOf(machines)
  const tables = machines.map((machine) => createTable(machine, alphabet))
  const states: (readonly number[])[] = [tables.map(() => 0)]
  const numbers = new Map([[states[0]?.join() ?? '', 0]])
  const known: (readonly number[][])[] = []
  return (state) => (known[state] ??= stepsOf(states[state] ?? []))

  function stepsOf(state: readonly number[]): readonly number[][] {
    const found = new Map<number, number>()
    for (const [letter, character] of alphabet.entries()) {
      const next = tables.map((table, i) => table(state[i] ?? 0, letter))
      const key = next.join()
      const number = numbers.get(key) ?? states.push(next) - 1
      numbers.set(key, number)
      if (!found.has(number)) found.set(number, character)
    }
    return [...found]
  }
}
