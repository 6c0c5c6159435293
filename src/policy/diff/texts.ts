import { toNfc } from '../../domain/normal-form.ts'
import { hasHidden } from '../text/text.ts'
import type { Machine, State } from './machines.ts'
import { remember } from '../language/remember.ts'

export interface FoundTexts {
  /** One string for each joint state of the machines, shortest first. */
  readonly texts: readonly string[]
  /** False when the search stopped early, so that other strings may behave differently from all of these. */
  readonly complete: boolean
}

/** The maximum number of states. With more, the search for example strings stops. */
const MAX_STATES = 10_000

/** Finds one example string for each combination of the machines' answers. */
export function searchTexts(machines: readonly Machine[], maxStates: number = MAX_STATES): FoundTexts {
  const alphabet = alphabetOf(machines)
  const tables = machines.map((machine) => createTable(machine, alphabet))
  const start = tables.map(() => 0)
  const seen = new Set([start.join()])
  const found: { readonly text: string; readonly states: readonly number[] }[] = [{ text: '', states: start }]
  for (let at = 0; at < found.length; at++) {
    const { text, states } = found[at] as (typeof found)[number]
    for (const [letter, character] of alphabet.entries()) {
      const next = tables.map((table, i) => table(states[i] ?? 0, letter))
      const key = next.join()
      if (seen.has(key)) continue
      if (seen.size >= maxStates) return { texts: found.map((one) => one.text), complete: false }
      seen.add(key)
      found.push({ text: text + String.fromCodePoint(character), states: next })
    }
  }
  return { texts: found.map((one) => one.text), complete: true }
}

/** Returns the steps of one machine between numbered states. Caches steps, because joint searches repeat them. */
export function createTable(
  machine: Machine,
  alphabet: readonly number[],
): (state: number, letter: number) => number {
  const states: State[] = [machine.start]
  const numbers = new Map([[machine.start.join(), 0]])
  const steps: (number | undefined)[] = []
  return (state, letter) => {
    const at = state * alphabet.length + letter
    const known = steps[at]
    if (known !== undefined) return known
    const next = machine.step(states[state] ?? [], alphabet[letter] ?? 0)
    const key = next.join()
    return (steps[at] = remember(numbers, key, () => states.push(next) - 1))
  }
}

const LAST_CODE_POINT = 0x10ffff
/** Preferred characters, because people read the examples. */
const PLAIN = Array.from('xa0A-_./@ ~').map((character) => character.codePointAt(0) ?? 0)
/** A string with only smaller code points is always in NFC. */
const FIRST_COMBINING = 0x300
const MAX_TRIED = 512

/** Returns one character of each interval in which all machines treat characters alike. */
export function alphabetOf(machines: readonly Machine[]): readonly number[] {
  const bounds = new Set([0, FIRST_COMBINING, ...machines.flatMap((machine) => machine.boundaries)])
  const sorted = [...bounds].filter((bound) => bound <= LAST_CODE_POINT).sort((a, b) => a - b)
  const chosen = sorted.flatMap((low, i) => choose(low, (sorted[i + 1] ?? LAST_CODE_POINT + 1) - 1) ?? [])
  // Plain characters are first, because the first string that reaches a state becomes the example.
  return chosen.sort((a, b) => rankOf(a) - rankOf(b))
}

function rankOf(character: number): number {
  const plain = PLAIN.indexOf(character)
  return plain >= 0 ? plain : PLAIN.length + character
}

function choose(low: number, high: number): number | undefined {
  const plain = PLAIN.find((character) => character >= low && character <= high)
  if (plain !== undefined) return plain
  for (let character = low; character <= Math.min(high, low + MAX_TRIED); character++) {
    const text = String.fromCodePoint(character)
    if (!hasHidden(text) && toNfc(text) === text && !/\s/.test(text)) return character
  }
  return low >= 0xd800 && low <= 0xdfff ? undefined : low
}
