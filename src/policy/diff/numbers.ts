import { keyword, numberKeyword, type Part } from './subschema.ts'

/**
 * Returns each number that tests and contract bounds compare with, and numbers on both sides of it. Between two
 * adjacent compared numbers, every test has the same answer.
 */
export function numbersAround(points: ReadonlySet<number>, parts: readonly Part[]): readonly number[] {
  const all = new Set([...points, ...parts.flatMap(boundsOf)])
  if (all.size === 0) all.add(0)
  const sorted = [...all].sort((a, b) => a - b)
  const found = new Set<number>()
  for (const [i, point] of sorted.entries()) {
    const next = sorted[i + 1]
    found.add(point)
    // Add the nearest whole numbers, in case a contract requires whole numbers.
    found.add(Math.ceil(point) - 1)
    found.add(Math.floor(point) + 1)
    for (const step of parts.flatMap(stepOf)) {
      const below = Math.floor(point / step) * step
      for (const multiple of [below - step, below, below + step, below + 2 * step]) found.add(multiple)
    }
    if (next !== undefined && !parts.every(isWhole)) found.add(point + (next - point) / 2)
  }
  if (!parts.every(isWhole)) addOuter(sorted, found)
  return [...found].filter((number) => Number.isFinite(number)).sort((a, b) => a - b)
}

function addOuter(sorted: readonly number[], found: Set<number>): void {
  found.add((sorted[0] ?? 0) - 0.5)
  found.add((sorted.at(-1) ?? 0) + 0.5)
}

/** Returns true when only whole numbers fit. */
export function isWhole(part: Part): boolean {
  const type = keyword(part, 'type')
  const types = Array.isArray(type) ? (type as readonly unknown[]) : [type]
  return types.includes('integer') && !types.includes('number')
}

const BOUNDS = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum']

export const boundsOf = (part: Part): readonly number[] => BOUNDS.flatMap((name) => numberKeyword(part, name))

const stepOf = (part: Part): readonly number[] => numberKeyword(part, 'multipleOf')
